// Measures the tables of docs/model-card.md: error rates by set with and without the cohort, promised and observed rates by
// group, and the human check. Takes two hours.
//   node bench/model-card.mjs [--write] [--only TABLE]
// Prints the tables, or writes them into the card with --write. Needs the shared data.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../test/support/programs.mjs';
import { sharedData, table, writeBetween } from './lib/data.mjs';

const { values: options } = parseArgs({
  options: { write: { type: 'boolean', default: false }, only: { type: 'string' } },
});
const sets = ['lfw-dev', 'rmfd-dev'];
const needed = [
  ...sets,
  ...['london-dev', 'ages-dev', 'origin-dev', 'web-dev', 'cfp-dev', 'negatives', 'negatives-animals'],
];
const folders = new Map(needed.map((name) => [name, sharedData(name)]));
for (const [name, folder] of folders) {
  if (folder !== undefined) continue;
  console.error(`There is no shared data ${name}.`);
  process.exit(2);
}

function run(env, script, ...args) {
  const { status, stdout, error } = spawnSync(process.execPath, [join(root, script), ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}

const facematch = (pack, ...args) =>
  JSON.parse(run({ FACEMATCH_PACK: pack }, 'dist/src/cli/index.js', ...args, '--json'));

const percent = (share) => `${(share * 100).toFixed(2)} %`;
const interval = ([low, high]) => `${(low * 100).toFixed(2)}–${(high * 100).toFixed(2)}`;

const kinds = { normalised: 'with the cohort', cosine: 'without it (cosine)' };

function accuracyTable(evaluated) {
  const rows = [...evaluated].flatMap(([mode, { sets: figures }]) =>
    figures.flatMap(({ set, by }) =>
      Object.entries(kinds).map(([kind, words]) => {
        const { accuracy, equal_error_rate, operating_points } = by[kind];
        const tar = (fmr) => {
          const point = operating_points.find((one) => one.fmr === fmr);
          return `${percent(point.tar)} [${interval(point.tar_interval)}]`;
        };
        const deviation = accuracy.deviation === undefined ? '' : ` ± ${percent(accuracy.deviation)}`;
        return [
          set,
          mode,
          words,
          `${percent(accuracy.mean)}${deviation}`,
          percent(equal_error_rate),
          tar(0.01),
          tar(0.001),
        ];
      }),
    ),
  );
  return table(['set', 'mode', 'score', 'accuracy', 'EER', 'TAR at FMR 1e-2', 'TAR at FMR 1e-3'], rows);
}

function thresholdTable(evaluated) {
  const rows = [...evaluated].flatMap(([mode, { shared_thresholds }]) =>
    shared_thresholds
      .filter(({ chosen_on, fmr }) => chosen_on === undefined || (chosen_on === 'lfw-dev' && fmr === 0.001))
      .map(({ by, chosen_on, fmr, confidence_percent, sets: seen }) => [
        mode,
        kinds[by],
        chosen_on === undefined ? `${confidence_percent} percent` : `FMR ${fmr} of ${chosen_on}`,
        ...sets.flatMap((name) => {
          const { measured_fmr, fmr_interval, tar, tar_interval } = seen[name];
          return [
            `${percent(measured_fmr)} [${interval(fmr_interval)}]`,
            `${percent(tar)} [${interval(tar_interval)}]`,
          ];
        }),
      ]),
  );
  const columns = sets.flatMap((name) => [`${name} FMR`, `${name} TAR`]);
  return table(['mode', 'score', 'threshold', ...columns], rows);
}

/**
 * A row for each group and mode: observed ÷ promised rate at each percent, with its interval, and that of the pack int8. The young
 * of one origin and sex are too few for rows of their own.
 */
function honestyTable({ modes }, int8) {
  const percents = [50, 60, 70];
  const seenOf = (rows, group) =>
    percents.map((percent) => rows.find((row) => row.group === group && row.percent === percent));
  const times = (rate, { promised }) => (rate / promised).toFixed(2);
  const ratio = (row) => {
    const [value, low, high] = [row.observed, ...row.interval].map((rate) => times(rate, row));
    return `${value} [${low}–${high}]`;
  };
  const groups = [...new Set(modes[0].check.with_cohort.map(({ group }) => group))]
    .filter((group) => !/stage \d/.test(group))
    .sort();
  const rows = groups.flatMap((group) =>
    modes.map(({ mode, check }, index) => {
      const seen = seenOf(check.with_cohort, group);
      const other = seenOf(int8.modes[index].check.with_cohort, group);
      const beside = other.map((row) => times(row.observed, row)).join(' / ');
      return [group, mode, ...seen.map(ratio), beside, seen[0].pairs];
    }),
  );
  const columns = percents.map((percent) => `at ${percent}`);
  return table(['group', 'mode', ...columns, 'the pack int8', 'pairs'], rows);
}

/** A row for each set and mode: what the default pack → the pack int8 reaches at the same percents. */
function besideTable(modes) {
  const share = ({ tar, tar_interval }) => `${percent(tar)} [${interval(tar_interval)}]`;
  const rows = modes.flatMap(([mode, floats, bytes]) =>
    floats.map(({ set, by }, index) => {
      const [one, other] = [by, bytes[index].by].map(({ normalised }) => normalised);
      const at = (read) => `${read(one)} → ${read(other)}`;
      const point = (confidence) =>
        at(({ percent_points }) =>
          share(percent_points.find((row) => row.confidence_percent === confidence)),
        );
      return [set, mode, at(({ accuracy }) => percent(accuracy.mean)), point(50), point(60), point(70)];
    }),
  );
  return table(['set', 'mode', 'accuracy', 'same person at 50', 'at 60', 'at 70'], rows);
}

function missingTable(evaluated) {
  return table(
    ['set', 'mode', 'pictures', 'without a face'],
    [...evaluated].flatMap(([mode, { sets: figures }]) =>
      figures.map(({ set, pictures, without_face }) => [set, mode, pictures, without_face.length]),
    ),
  );
}

function humanTable({ human }) {
  const rows = human.map(({ set, faces, passed, sources, sources_passed }) => [
    set,
    faces,
    passed,
    percent(1 - passed / faces),
    `${sources_passed} of ${sources}`,
  ]);
  return table(
    ['set', 'faces, both modes', 'passed', 'refused', 'people or pictures with one that passed'],
    rows,
  );
}

/** Rows for people who were not used for cohort or calibration, with the pack's own cohort. */
function asidePart([mode, figures]) {
  const { operating_points, percent_points } = figures.by.normalised;
  return [
    ...percent_points.map(({ confidence_percent, ...point }) => [`${confidence_percent} percent`, point]),
    ...operating_points.map((point) => [`FMR ${point.fmr} of its own`, point]),
  ].map(([words, { measured_fmr, fmr_interval, tar, tar_interval }]) => [
    mode,
    words,
    `${percent(measured_fmr)} [${interval(fmr_interval)}]`,
    `${percent(tar)} [${interval(tar_interval)}]`,
  ]);
}

const pairsOf = (name) => `${name}=${folders.get(name)}/pairs.tsv:${folders.get(name)}/images`;
const pairs = sets.map(pairsOf);
const made = (name) => join(root, 'build/people', name);
run({}, 'bench/people.mjs');
const images = (name) => `${name}=${folders.get(name)}/images`;
const london = `london-dev=${folders.get('london-dev')}`;
/** Arguments of the packs' calibration; docs/model-card.md names them. */
const people = [
  ...[images('lfw-dev'), london, `origin=${made('origin')}`],
  ...['--occluded', `origin=${made('origin-masks')}`],
  ...['--cohort-only', images('rmfd-dev'), images('ages-dev')],
  ...['--groups', 'origin*sex*stage,age,cover', '--same-person-above', '0.6'],
];
const morePeople = [images('ages-dev'), london, `origin=${made('origin')}`];
const withoutPeople = ['negatives', 'negatives-animals'].map((name) => folders.get(name));

/** Measurements that several tables use are made once. */
const once = (measure) => {
  let found;
  return () => {
    found ??= measure();
    return found;
  };
};
const evaluated = once(
  () =>
    new Map(
      ['fast', 'balance'].map((mode) => [
        mode,
        facematch(
          'default',
          'eval',
          ...pairs,
          '--mode',
          mode,
          '--held-out-cohort',
          '--people',
          ...morePeople,
        ),
      ]),
    ),
);
const calibration = (pack) =>
  once(() => facematch(pack, 'calibrate', ...people, '--check', '--without-people', ...withoutPeople));
const [calibrated, calibratedInt8] = ['default', 'int8'].map(calibration);
const aside = once(() =>
  ['fast', 'balance'].map((mode) => [mode, facematch('default', 'eval', pairsOf('web-dev'), '--mode', mode)]),
);
const cfp = ['ff', 'fp'].map(
  (kind) => `cfp-${kind}=${folders.get('cfp-dev')}/pairs-${kind}.tsv:${folders.get('cfp-dev')}`,
);
/** Each pack by its own cohort, mode by mode. */
const packsBeside = once(() =>
  ['balance', 'fast'].map((mode) => [
    mode,
    ...['default', 'int8'].map(
      (pack) => facematch(pack, 'eval', ...pairs, pairsOf('web-dev'), ...cfp, '--mode', mode).sets,
    ),
  ]),
);
const makers = {
  accuracy: () => accuracyTable(evaluated()),
  thresholds: () => thresholdTable(evaluated()),
  missing: () => missingTable(evaluated()),
  web: () =>
    table(['mode', 'threshold', 'strangers who pass', 'same person who passes'], aside().flatMap(asidePart)),
  promises: () => honestyTable(calibrated(), calibratedInt8()),
  human: () => humanTable(calibrated()),
  int8: () => besideTable(packsBeside()),
};
const wanted = Object.entries(makers).filter(([name]) => name === (options.only ?? name));
if (wanted.length === 0) {
  console.error(`--only: expected one of ${Object.keys(makers).join(', ')} but received ${options.only}`);
  process.exit(2);
}
const tables = Object.fromEntries(wanted.map(([name, make]) => [name, make()]));

if (options.write) {
  writeBetween('model-card.md', tables);
} else {
  for (const [name, content] of Object.entries(tables)) console.log(`${name}\n\n${content}\n`);
}
