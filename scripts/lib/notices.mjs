// What stands inside the files that are shipped, and the terms that must go with it: the npm package of a platform has them in `licences`.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDebian, unpackFiles, unpackSource } from './debian.mjs';
import { apiReference, liftFiles } from './lift.mjs';
import { hashOf, isStamped, run, SetupError, writeStamp } from './run.mjs';

/** Of Debian 13, whose headers the addon is built with. npm's package of the library has no notices of its own. */
const onnxRuntime = {
  path: 'pool/main/o/onnxruntime/onnxruntime_1.21.0+dfsg.orig.tar.xz',
  sha256: '32df1f82bd6b07b18372c0f387133214905cbde7a586b3ad83f0ed0075f80273',
  licences: ['LICENSE', 'ThirdPartyNotices.txt'],
};

const boringSsl = 'android-libboringssl';

/** Names the sources of the API page's script. */
const map = {
  ...apiReference,
  files: {
    'dist/browser/standalone.js.map': '88c824f8100f25774c79e3582af42d4b48c9a9b563639c94d81ae411a9ad09c4',
  },
};

/** Works inside the binaries of µWebSockets.js, by what the binaries themselves name. */
export const insideUws = [
  {
    name: 'BoringSSL',
    licence: 'OpenSSL AND ISC AND Apache-2.0',
    copyright: 'The OpenSSL Project; Google Inc.',
  },
  {
    name: 'lsquic',
    licence: 'MIT AND BSD-3-Clause',
    copyright: '2017-2018 LiteSpeed Technologies Inc; 2015 The Chromium Authors',
  },
  { name: 'ls-qpack', licence: 'MIT', copyright: '2018-2019 LiteSpeed Technologies Inc' },
  { name: 'ls-hpack', licence: 'MIT', copyright: '2018 LiteSpeed Technologies Inc' },
  { name: 'zlib', licence: 'Zlib', copyright: '1995-2024 Jean-loup Gailly and Mark Adler' },
];

const cure = 'The notices could not be gathered. They come from Debian and from npm: check the network.';
const partsFile = 'api-reference.json';

/** Resolves to the folder of the texts. A minute; quick when it is there. */
export async function notices(onLine) {
  const folder = resolve('.cache/notices');
  const stamp = join(folder, '.stamp');
  const hash = hashOf(['scripts/lib/notices.mjs', 'scripts/lib/lift.mjs']);
  if (isStamped(stamp, hash)) return folder;
  if (!isDebian()) throw new SetupError(cure);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const work = resolve('.cache/notices-work');
  const source = join(work, 'onnxruntime');
  await unpackSource(onnxRuntime, source, cure, onLine);
  for (const file of onnxRuntime.licences) cpSync(join(source, file), join(folder, `onnxruntime-${file}`));
  const copyright = `/usr/share/doc/${boringSsl}/copyright`;
  await unpackFiles(boringSsl, [copyright], join(work, 'boringssl'), cure, onLine);
  cpSync(join(work, 'boringssl', copyright), join(folder, 'BoringSSL-copyright'));
  await partsOfReference(work, folder, onLine);
  rmSync(work, { recursive: true, force: true });
  writeStamp(stamp, hash);
  return folder;
}

/** The packages that the script of the API's page is bundled of: { name, version, licence }. Throws an Error when `notices` was not called. */
export const referenceParts = () => JSON.parse(readFileSync(join('.cache/notices', partsFile), 'utf8'));

/** Installs the very versions that the source map names, for their licences. */
async function partsOfReference(work, folder, onLine) {
  const lifted = join(work, 'map');
  await liftFiles(map, lifted, cure, onLine);
  const { sources } = JSON.parse(readFileSync(join(lifted, 'dist/browser/standalone.js.map'), 'utf8'));
  const versions = Object.fromEntries(sources.flatMap(partOf).sort());
  const place = join(work, 'parts');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];
  await run('npm', ['install', '--legacy-peer-deps', ...quiet], { cwd: place, cure, onLine });
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

/** [name, version] of the package that a source belongs to; nothing for the sources of Scalar, which are under its own licence. */
function partOf(source) {
  const found = /node_modules\/\.pnpm\/[^/]*?[^/]@([^/_(]+)[^/]*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(
    source,
  );
  return found === null ? [] : [[found[2], found[1]]];
}

/** Who a package without a licence file says that it is by. */
const nameOf = (author) => author?.name ?? author ?? 'Its package names no author.';

function termsIn(folder) {
  const files = readdirSync(folder).sort();
  const texts = files.filter((file) => /^(?:licen[cs]e|copying|notice)\b/i.test(file));
  return texts.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
}
