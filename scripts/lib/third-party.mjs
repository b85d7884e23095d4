// Generates the tables of THIRD_PARTY_NOTICES.md from package-lock.json, the installed packages and the manifests of
// the model packs. The rest of the page is written by hand.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiReference } from './extract.mjs';
import { table } from './markdown.mjs';
import { insideUws } from './notices.mjs';
import { cxxLibrary } from './old-libc.mjs';
import { libraries } from './static-libraries.mjs';
import { uwsBuilds } from './uws.mjs';

/** A line with a copyright holder. Excludes lines that only mention copyright or have a placeholder. */
const holder = /^\W*copyright\s+(?!\[|notice|holder|owner|licen[cs]e|and\b|\d{4},? name)\S/i;

/** Start of the terms of a licence. Titles and copyright lines above it differ between packages. */
const terms =
  /^\W*(?:permission is hereby|permission to use|redistribution and use|apache license|licensed under the apache)/im;

/** Copyright holders of packages without a licence file, as their projects state them. */
const stated = {
  'onnxruntime-node': ['Copyright (c) Microsoft Corporation'],
  'onnxruntime-common': ['Copyright (c) Microsoft Corporation'],
};

/** Copyright holders of model weights, as the licence files next to them state them. */
const holdersOfWeights = {
  'faceplugin-face-recognition-js': 'Copyright (c) 2021 gitguanqi',
  '@mediapipe/face_detection': 'not stated by the package',
};

const mark = 'node_modules/';

/**
 * Returns the tables by name. Reads the project in the working directory. Throws an Error if the page lacks the terms
 * of a package. Also throws if a package has a NOTICE, which must be included (Apache-2.0, section 4 (d)).
 */
export function thirdPartyTables() {
  return { packages: packagesTable(), libraries: librariesTable(), weights: weightsTable() };
}

function packagesTable() {
  const page = plain(readFileSync('THIRD_PARTY_NOTICES.md', 'utf8'));
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const atRunTime = Object.entries(packages).filter(
    ([path, entry]) => path.includes(mark) && !entry.dev && !entry.link,
  );
  // Builds for single platforms are counted in the row of their main package.
  const buildsOf = ({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).filter((name) => packages[mark + name]?.os);
  const builds = new Set(atRunTime.flatMap(([, entry]) => buildsOf(entry)));
  const rows = atRunTime.flatMap(([path, entry]) => {
    const name = path.slice(path.lastIndexOf(mark) + mark.length);
    if (builds.has(name)) return [];
    const holders = holdersIn(path, page);
    const named = holders.length > 0 ? holders : (stated[name] ?? ['not stated by the package']);
    const alias = entry.name === undefined || entry.name === name ? '' : ` (\`${entry.name}\`)`;
    const { length: count } = buildsOf(entry);
    const platforms = count === 0 ? '' : `, and its ${count} builds for platforms`;
    return [[`\`${name}\`${alias}${platforms}`, entry.version, entry.license, named.join('; ')]];
  });
  // The lock file does not contain these, because setup extracts single files from their tarballs.
  const uws = uwsBuilds.map((build) => [
    `\`${build.package}\` (a binary of µWebSockets.js)`,
    build.version,
    'Apache-2.0',
    'Alex Hultman and contributors (headers of its sources)',
  ]);
  const script = [
    `\`${apiReference.package}\` (its script contains many packages, see below)`,
    apiReference.version,
    'MIT',
    'Copyright (c) 2023-present Scalar (its project)',
  ];
  return table(['package', 'version', 'licence', 'copyright'], [...rows, ...uws, script]);
}

function librariesTable() {
  const row =
    (inside) =>
    ({ name, debian = '', licence, copyright }) => [name, inside, debian, licence, copyright];
  const linked = [...libraries, { ...cxxLibrary, debian: 'g++' }];
  const works = [...linked.map(row('the addon')), ...insideUws.map(row('the binaries of µWebSockets.js'))];
  return table(['work', 'inside', 'Debian package', 'licence', 'copyright'], works);
}

/** Returns the copyright holders in the licence files of an installed package. */
function holdersIn(folder, page) {
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  const notice = files.find((file) => /^notice\b/i.test(file));
  if (notice) throw new Error(`${folder} has a ${notice}: add its text to THIRD_PARTY_NOTICES.md`);
  const licences = files.filter((file) => /^(?:licen[cs]e|copying)\b/i.test(file));
  return licences.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const own = text.slice(Math.max(0, text.search(terms)));
    if (!/^\W*apache license/i.test(own) && !page.includes(plain(own)))
      throw new Error(`THIRD_PARTY_NOTICES.md lacks the terms of ${folder}/${file}`);
    const lines = text.split('\n').filter((line) => holder.test(line));
    return lines.map((line) => line.replace(/^\W+/, '').trim());
  });
}

/** Normalizes a licence text. Texts that differ only in white space, quotation marks and capitals become equal. */
const plain = (text) =>
  text
    .toLowerCase()
    .replace(/[\s"'“”‘’*]+/g, ' ')
    .trim();

function weightsTable() {
  const packs = 'models/packs';
  const rows = readdirSync(packs)
    .sort()
    .flatMap((pack) => {
      const manifest = JSON.parse(readFileSync(join(packs, pack, 'manifest.json'), 'utf8'));
      const files = Object.values(manifest).filter((one) => one?.file !== undefined);
      const row = ({ file, from, licence, sha256, source_sha256, source = manifest.source }) => {
        if (from === undefined) return [file, licence, '', 'generated by this project', sha256];
        const terms = `${licence}, ${source.licence_note ?? 'as stated'}`;
        return [from, terms, holdersOfWeights[source.package] ?? '', originOf(source), source_sha256];
      };
      // Lists published files first, and then files generated by this project. Skips models whose `from` is an object,
      // because they belong to another pack.
      const published = files.filter(({ from }) => typeof from === 'string');
      const made = files.filter(({ from }) => from === undefined);
      return [...published, ...made]
        .map(row)
        .map(([file, ...cells]) => [
          `\`${pack}\``,
          `\`${file}\``,
          ...cells.slice(0, -1),
          `\`${cells.at(-1)}\``,
        ]);
    });
  return table(['pack', 'file', 'licence', 'copyright', 'from', 'SHA-256'], rows);
}

/** Describes the origin of a pack's own models in one line. */
const originOf = ({ kind, ...source }) =>
  kind === 'npm'
    ? `npm package \`${source.package}\` ${source.version}, tarball \`${source.integrity}\``
    : `project ${source.project} at commit \`${source.commit}\`; you must provide the file`;
