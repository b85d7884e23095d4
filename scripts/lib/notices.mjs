// Third-party works inside the shipped files, and the terms that must accompany them: the npm package of a
// platform has them in `licences`.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { installPackages, isDebian, missingPackages, unpackFiles } from './debian.mjs';
import { apiReference, liftFiles, requireDigest } from './lift.mjs';
import { hashOf, isStamped, run, SetupError, writeStamp } from './run.mjs';

/** npm's package of the library has no notices of its own; PyPI's of the same version has them. */
const onnxRuntime = {
  LICENSE: '2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c',
  'ThirdPartyNotices.txt': '143764b952fdb1a7c69ce653bfba74a7744d6a8a573bfb73e235fba356c83de3',
};

/** Debian packages that have the terms: of BoringSSL, and of xxHash in lsquic. */
const debian = { BoringSSL: 'android-libboringssl', xxHash: 'libxxhash0' };

/** They name the sources of the script that the API page loads; the bundler's own few lines have none. */
const maps = apiReference.files
  .filter((file) => !file.includes('rolldown-runtime'))
  .map((file) => `${file}.map`);

/**
 * Works inside the binaries of µWebSockets.js, by what the binaries themselves name, and the LICENSE files and headers of the newest
 * sources (lsquic 1954740, ls-qpack 475dfa8, ls-hpack 8905c02): the binaries do not tell their commits.
 */
export const insideUws = [
  {
    name: 'BoringSSL',
    licence: 'OpenSSL AND ISC AND Apache-2.0',
    copyright: 'The OpenSSL Project; Google Inc.',
  },
  {
    name: 'lsquic',
    licence: 'MIT AND BSD-3-Clause AND BSD-2-Clause',
    copyright:
      '2017-2026 LiteSpeed Technologies Inc; 2015-2016 The Chromium Authors; 2012-2014 Yann Collet (xxHash); 2024 Nicolas De Carli (rapidhash)',
  },
  {
    name: 'ls-qpack',
    licence: 'MIT AND BSD-2-Clause',
    copyright: '2018-2026 LiteSpeed Technologies Inc; 2012-2014 Yann Collet (xxHash)',
  },
  {
    name: 'ls-hpack',
    licence: 'MIT AND BSD-2-Clause',
    copyright: '2018-2023 LiteSpeed Technologies Inc; 2012-2014 Yann Collet (xxHash)',
  },
];

const cure = 'The notices could not be gathered. They come from Debian, npm and PyPI: check the network.';
const partsFile = 'api-reference.json';

/** Resolves to the folder of the texts. It takes a minute; quick if they exist. */
export async function notices() {
  const folder = resolve('.cache/notices');
  const stamp = join(folder, '.stamp');
  const version = JSON.parse(readFileSync('package.json', 'utf8')).dependencies['onnxruntime-node'];
  const hash = hashOf(['scripts/lib/notices.mjs', 'scripts/lib/lift.mjs'], [version]);
  if (isStamped(stamp, hash)) return folder;
  if (!isDebian()) throw new SetupError(cure);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const work = resolve('.cache/notices-work');
  await noticesOfOnnxRuntime(version, work, folder);
  for (const [name, from] of Object.entries(debian)) {
    const copyright = `/usr/share/doc/${from}/copyright`;
    await unpackFiles(from, [copyright], join(work, from), cure);
    cpSync(join(work, from, copyright), join(folder, `${name}-copyright`));
  }
  await partsOfReference(work, folder);
  rmSync(work, { recursive: true, force: true });
  writeStamp(stamp, hash);
  return folder;
}

async function noticesOfOnnxRuntime(version, work, folder) {
  const missing = missingPackages(['python3-pip', 'cmake']);
  if (missing.length > 0) await installPackages(missing);
  const place = join(work, 'onnxruntime');
  mkdirSync(place, { recursive: true });
  // One wheel on every machine, because its notices cover all.
  const wheel = ['--only-binary=:all:', '--platform=manylinux_2_28_x86_64', '--python-version=3.11'];
  const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', `--dest=${place}`, ...wheel];
  await run('python3', [...download, `onnxruntime==${version}`], { cure });
  await run('cmake', ['-E', 'tar', 'xf', readdirSync(place)[0], 'onnxruntime'], { cwd: place, cure });
  for (const [file, digest] of Object.entries(onnxRuntime)) {
    const text = join(place, 'onnxruntime', file);
    requireDigest(`onnxruntime's ${file}`, text, digest);
    cpSync(text, join(folder, `onnxruntime-${file}`));
  }
}

/**
 * Returns the packages from which the script of the API's page is bundled: { name, version, licence }. Throws
 * an Error if `notices` was not called.
 */
export const referenceParts = () => JSON.parse(readFileSync(join('.cache/notices', partsFile), 'utf8'));

/** Installs exactly the versions that the source maps name, for their licences. */
async function partsOfReference(work, folder) {
  const lifted = join(work, 'map');
  await liftFiles({ ...apiReference, files: maps }, lifted, cure);
  const sources = maps.flatMap((map) => JSON.parse(readFileSync(join(lifted, map), 'utf8')).sources);
  const versions = Object.fromEntries(sources.flatMap(partOf).sort());
  const place = join(work, 'parts');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];
  await run('npm', ['install', '--legacy-peer-deps', ...quiet], { cwd: place, cure });
  const parts = Object.entries(versions).map(([name, version]) => {
    const installed = join(place, 'node_modules', name);
    const { license, author } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    return { name, version, licence: license, author: nameOf(author), text: termsIn(installed) };
  });
  const facts = parts.map(({ name, version, licence }) => ({ name, version, licence }));
  writeFileSync(join(folder, partsFile), JSON.stringify(facts));
  const texts = parts.map(
    ({ name, version, licence, author, text }) => `${name} ${version} (${licence})\n\n${text || author}`,
  );
  writeFileSync(join(folder, 'api-reference.txt'), `${texts.join(`\n${'-'.repeat(79)}\n`)}\n`);
}

/**
 * Returns [name, version] of the package of a source; nothing for the sources of Scalar, which are under its
 * own licence.
 */
function partOf(source) {
  const found = /node_modules\/\.pnpm\/[^/]*?[^/]@([^/_(]+)[^/]*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(
    source,
  );
  return found === null ? [] : [[found[2], found[1]]];
}

/** The author that a package without a licence file names. */
const nameOf = (author) => author?.name ?? author ?? 'Its package names no author.';

function termsIn(folder) {
  const files = readdirSync(folder).sort();
  const texts = files.filter((file) => /^(?:licen[cs]e|copying|notice)\b/i.test(file));
  return texts.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
}
