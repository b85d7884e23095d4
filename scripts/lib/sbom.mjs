// The list of parts of a release for one platform (SBOM, CycloneDX 1.5): npm's own list of what the program runs with, and what is
// inside the files that are shipped.
import { readFileSync } from 'node:fs';
import { apiReference } from './lift.mjs';
import { insideUws, referenceParts } from './notices.mjs';
import { ask } from './run.mjs';
import { libraries } from './static-libraries.mjs';
import { uwsBuilds } from './uws.mjs';

/** `dropped` names dependencies that are needed to build and not shipped. `notices` must have been gathered. */
export function sbom(pack, platform, dropped) {
  const list = ['sbom', '--omit=dev', '--workspaces=false', '--sbom-format=cyclonedx'];
  const made = JSON.parse(ask('npm', [...list, '--sbom-type=application']));
  // npm calls the program by the name of the folder.
  const { name } = JSON.parse(readFileSync('package.json', 'utf8'));
  made.metadata.component.name = name;
  const kept = reachable(made, dropped);
  const npm = made.components.filter((one) => kept.has(one['bom-ref']));
  const dependencies = made.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));
  return {
    ...made,
    components: [...npm, ...nativeParts(platform), ...pageParts(), ...filesOf(pack)],
    dependencies,
  };
}

/** References that the program reaches without those that are dropped. */
function reachable({ metadata, dependencies }, dropped) {
  const next = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  const kept = new Set([metadata.component['bom-ref']]);
  for (const ref of kept)
    for (const one of next.get(ref) ?? [])
      if (!dropped.some((name) => one.startsWith(`${name}@`))) kept.add(one);
  return kept;
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
      purl: npmAddress(build.package, build.version),
      hashes: [{ alg: 'SHA-256', content: build.sha256 }],
      components: insideUws.map(component),
    }));
  return [...linked, { ...runtime, purl: npmAddress('onnxruntime-node', version) }, ...uws];
}

function pageParts() {
  const { package: name, version } = apiReference;
  const parts = referenceParts().map((part) => ({
    ...component(part),
    purl: npmAddress(part.name, part.version),
  }));
  const script = component({ name, version, licence: 'MIT', copyright: 'Scalar' });
  return [{ ...script, purl: npmAddress(name, version), components: parts }];
}

/** Nets and numbers of a pack, as they are shipped. */
function filesOf(pack) {
  const manifest = JSON.parse(readFileSync(`${pack}/manifest.json`, 'utf8'));
  const files = Object.values(manifest).filter((one) => one?.file !== undefined);
  return files.map(({ file, licence, sha256, from, source = manifest.source }) => ({
    ...component({ name: `${manifest.name}/${file}`, version: manifest.version, licence }),
    type: file.endsWith('.onnx') ? 'machine-learning-model' : 'data',
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    ...(from !== undefined && {
      properties: [{ name: 'source', value: `${npmAddress(source.package, source.version)} ${from}` }],
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

const npmAddress = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;
