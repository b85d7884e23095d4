// Creates the SBOM (CycloneDX 1.5) of a release for one platform: the npm packages that the program needs at run time,
// and the works inside the shipped files.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { apiReference } from './extract.mjs';
import { insideUws, referenceParts } from './notices.mjs';
import { cxxLibrary } from './old-libc.mjs';
import { libraries } from './static-libraries.mjs';
import { uwsBuilds } from './uws.mjs';

/** `dropped` lists dependencies that are not shipped. Call `notices` first. */
export function sbom(pack, platform, dropped) {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const needed = neededPackages(lock, dropped);
  const [program, ...packages] = [...needed.keys()].map((place) => npmPart(place, lock.packages[place]));
  return {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber: `urn:uuid:${randomUUID()}`, version: 1 },
    metadata: { timestamp: new Date().toISOString(), component: { ...program, type: 'application' } },
    components: [...packages, ...nativeParts(platform), ...pageParts(), ...filesOf(pack)],
    dependencies: [...needed].map(([place, on]) => ({ ref: refOf(place), dependsOn: on.map(refOf) })),
  };
}

/** Returns a reference that is unique even if the same version of a package is installed twice. */
const refOf = (place) => place || 'program';

/** Returns the component of a package in package-lock.json. The program itself has no tarball, and so no hash. */
function npmPart(place, { name = place.split('node_modules/').at(-1), version, license, integrity }) {
  const hash = integrity && Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
  return {
    ...component({ name, version, licence: license }),
    ...{ 'bom-ref': refOf(place), purl: packageUrl(name, version) },
    ...(hash && { hashes: [{ alg: 'SHA-512', content: hash }] }),
  };
}

function nativeParts(platform) {
  const linked = libraries.map(({ sha256, path, ...one }) => ({
    ...component(one),
    purl: `pkg:generic/${one.name}@${one.version}`,
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    properties: [{ name: 'source', value: path }],
  }));
  const { version } = JSON.parse(readFileSync('node_modules/onnxruntime-node/package.json', 'utf8'));
  const runtime = component({
    name: 'onnxruntime',
    version,
    licence: 'MIT',
    copyright: 'Microsoft Corporation',
  });
  const uws = uwsBuilds
    .filter(({ system }) => system.startsWith(`${platform}-`))
    .map((build) => ({
      ...component({ name: build.package, version: build.version, licence: 'Apache-2.0' }),
      purl: packageUrl(build.package, build.version),
      hashes: [{ alg: 'SHA-256', content: build.sha256 }],
      components: insideUws.map(component),
    }));
  return [
    ...linked,
    component(cxxLibrary),
    { ...runtime, purl: packageUrl('onnxruntime-node', version) },
    ...uws,
  ];
}

function pageParts() {
  const { package: name, version } = apiReference;
  const parts = referenceParts().map((part) => ({
    ...component(part),
    purl: packageUrl(part.name, part.version),
  }));
  const script = component({ name, version, licence: 'MIT', copyright: 'Scalar' });
  return [{ ...script, purl: packageUrl(name, version), components: parts }];
}

/** Returns a component for each file of a pack. */
function filesOf(pack) {
  const manifest = JSON.parse(readFileSync(`${pack}/manifest.json`, 'utf8'));
  const files = Object.values(manifest).filter((one) => one?.file !== undefined);
  return files.map(({ file, licence, sha256, from, source = manifest.source }) => ({
    ...component({ name: `${manifest.name}/${file}`, version: manifest.version, licence }),
    type: file.endsWith('.onnx') ? 'machine-learning-model' : 'data',
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    ...(from !== undefined && {
      properties: [{ name: 'source', value: `${packageUrl(source.package, source.version)} ${from}` }],
    }),
  }));
}

const component = ({ name, version, licence, copyright }) => ({
  type: 'library',
  name,
  ...(version !== undefined && { version }),
  ...(copyright !== undefined && { copyright }),
  licenses: [{ expression: licence }],
});

const packageUrl = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/**
 * Returns the npm packages that the program needs at run time, from package-lock.json. Maps the folder of each package
 * to the folders of its dependencies, which it resolves like Node.js. The program's own folder is ''. Omits the
 * packages in `without`, and packages that only they need.
 */
export function neededPackages(lock, without) {
  const needed = new Map();
  const visit = (from) => {
    if (needed.has(from)) return;
    const { dependencies, optionalDependencies } = lock.packages[from];
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    // Optional packages of other platforms are in the lock file, but not installed.
    const isThere = (place) => place in lock.packages && existsSync(place);
    const places = names
      .filter((name) => !without.includes(name))
      .flatMap((name) => placesOf(name, from).find(isThere) ?? []);
    needed.set(from, places);
    for (const place of places) visit(place);
  };
  visit('');
  return needed;
}

/** Returns the folders in which Node.js searches for a package: from the folder `from` up to the top. */
function placesOf(name, from) {
  const places = [];
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    places.push(folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`);
    if (folder === '') return places;
  }
}
