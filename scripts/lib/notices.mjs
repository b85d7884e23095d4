// Collects the licences and notices of third-party works inside the shipped files. The npm package of a platform
// contains them in `licences`.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { installPackages, isDebian, missingPackages, unpackFiles } from './debian.mjs';
import { apiReference, extractFiles, requireDigest } from './extract.mjs';
import { hashOf, isStamped, run, SetupError, writeStamp } from './run.mjs';

/** SHA-256 of ONNX Runtime's notices. Only the PyPI package of the same version has them, not the npm package. */
const onnxRuntime = {
  LICENSE: '2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c',
  'ThirdPartyNotices.txt': '143764b952fdb1a7c69ce653bfba74a7744d6a8a573bfb73e235fba356c83de3',
};

/** Debian packages with the licences of BoringSSL, and of xxHash in lsquic. */
const debian = { BoringSSL: 'android-libboringssl', xxHash: 'libxxhash0' };

/** Source maps of the API reference's script, which list the bundled packages. The bundler's runtime has none. */
const maps = apiReference.files
  .filter((file) => !file.includes('rolldown-runtime'))
  .map((file) => `${file}.map`);

/**
 * Works inside the binaries of µWebSockets.js, found by strings in the binaries. The binaries do not state their
 * commits, so licences and copyrights are those of the newest sources (lsquic 1954740, ls-qpack 475dfa8, ls-hpack
 * 8905c02).
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

const advice = 'The notices could not be downloaded from Debian, npm and PyPI. Check the network.';
const partsFile = 'api-reference.json';

/** Resolves to the folder with the notices. The first call takes about a minute. */
export async function notices() {
  const folder = resolve('.cache/notices');
  const stamp = join(folder, '.stamp');
  const version = JSON.parse(readFileSync('package.json', 'utf8')).dependencies['onnxruntime-node'];
  const hash = hashOf(['scripts/lib/notices.mjs', 'scripts/lib/extract.mjs'], [version]);
  if (isStamped(stamp, hash)) return folder;
  if (!isDebian()) throw new SetupError(advice);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const work = resolve('.cache/notices-work');
  await noticesOfOnnxRuntime(version, work, folder);
  for (const [name, from] of Object.entries(debian)) {
    const copyright = `/usr/share/doc/${from}/copyright`;
    await unpackFiles(from, [copyright], join(work, from), advice);
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
  // Downloads the x86-64 wheel on every machine, because the notices are the same for all platforms.
  const wheel = ['--only-binary=:all:', '--platform=manylinux_2_28_x86_64', '--python-version=3.11'];
  const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', `--dest=${place}`, ...wheel];
  await run('python3', [...download, `onnxruntime==${version}`], { advice });
  await run('cmake', ['-E', 'tar', 'xf', readdirSync(place)[0], 'onnxruntime'], { cwd: place, advice });
  for (const [file, digest] of Object.entries(onnxRuntime)) {
    const text = join(place, 'onnxruntime', file);
    requireDigest(`onnxruntime's ${file}`, text, digest);
    cpSync(text, join(folder, `onnxruntime-${file}`));
  }
}

/**
 * Returns the packages that the API reference's script contains: { name, version, licence }. Call `notices` first.
 */
export const referenceParts = () => JSON.parse(readFileSync(join('.cache/notices', partsFile), 'utf8'));

/** Installs the exact package versions in the source maps, and collects their licences. */
async function partsOfReference(work, folder) {
  const extracted = join(work, 'map');
  await extractFiles({ ...apiReference, files: maps }, extracted, advice);
  const sources = maps.flatMap((map) => JSON.parse(readFileSync(join(extracted, map), 'utf8')).sources);
  const versions = Object.fromEntries(sources.flatMap(partOf).sort());
  const place = join(work, 'parts');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];
  await run('npm', ['install', '--legacy-peer-deps', ...quiet], { cwd: place, advice });
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

/** Returns [[name, version]] of the package of a source file; [] for Scalar's own sources. */
function partOf(source) {
  const found = /node_modules\/\.pnpm\/[^/]*?[^/]@([^/_(]+)[^/]*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(
    source,
  );
  return found === null ? [] : [[found[2], found[1]]];
}

/** Returns the author in package.json, for a package without a licence file. */
const nameOf = (author) => author?.name ?? author ?? 'The package states no author.';

function termsIn(folder) {
  const files = readdirSync(folder).sort();
  const texts = files.filter((file) => /^(?:licen[cs]e|copying|notice)\b/i.test(file));
  return texts.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
}
