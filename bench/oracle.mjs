// Somebody else's OpenCV as the judge of ours: the same pictures, decoded, shrunk and warped by opencv4nodejs in the same
// steps, written once more in JavaScript, must lead to the same embeddings.
//   node bench/oracle.mjs [--pictures 100] [--json]
// Builds opencv4nodejs when it is not there, which takes some ten minutes.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './lib/paths.mjs';
import { flags, progress, report } from './lib/report.mjs';
import { quantile } from './results/statistics.mjs';
import { portraits } from './scenarios/oracle.mjs';
import { setUp } from './setup/index.mjs';

const least_cosine = 0.999;
const options = flags({ pictures: 100, json: false });

await setUp(['opencv4nodejs']);
process.env.ORT_DISABLE_TELEMETRY = '1';
const { cosine } = await import('./contenders/nets/compare.mjs');
const { openNets, published } = await import('./contenders/nets/sessions.mjs');
const { oracle } = await import('./lib/oracle.mjs');
const { loadAddon } = await import('../dist/src/engine/addon.js');
const { packDirectory, readManifest } = await import('../dist/src/engine/pack.js');

const pack = packDirectory('default');
const manifest = readManifest(pack);
const addon = loadAddon();
addon.loadPack(pack);
const ours = (bytes, mode) =>
  addon.embed(pack, new Uint8Array(bytes), {
    accuracy_mode: mode,
    min_det_score: manifest.min_det_score,
    use_heuristic_fallback: false,
    max_pixels: 50_000_000,
    min_side: 16,
  }).embeddings?.[0];
// The nets as published, but for the detector: neighbouring boxes can score the same to the last bits, and those decide.
const theirs = oracle(await openNets({ ...published, detector: join(pack, manifest.detector.file) }));

/** Of unit vectors; as far apart as can be where one is missing. */
const near = (a, b) => (a && b ? cosine(a, b) : -1);

/** Steps that ours may have taken as well: which is its own affair. Each is tried where those before do not agree. */
const looks = { first: {}, closeup: { closeup: true }, tied: { tied: true } };

async function compare(bytes, mode) {
  const a = ours(bytes, mode);
  const tried = [];
  for (const [look, how] of Object.entries(looks)) {
    const b = await theirs(bytes, mode, how);
    if (!a && !b) return { look: 'none' };
    tried.push({
      look,
      cosine: near(a, b),
      in_full: near(a, await theirs(bytes, mode, { ...how, whole: true })),
    });
    if (near(a, b) >= least_cosine) return tried.at(-1);
  }
  return tried[0];
}

const files = await portraits(options.pictures);
const found = [];
for (const [index, file] of files.entries()) {
  progress(`${index + 1} of ${files.length}`);
  const bytes = readFileSync(file);
  for (const mode of ['fast', 'balance']) found.push({ file, mode, ...(await compare(bytes, mode)) });
}
progress('');

const by = (look) => found.filter((one) => one.look === look);
const named = (list) => list.map(({ file, mode }) => `${relative(root, file)} ${mode}`);
const counted = (list) => ({ count: list.length, pictures: named(list) });
const spread = (values) => ({
  lowest: Math.min(...values),
  p1: quantile(values, 0.01),
  median: quantile(values, 0.5),
});
const compared = found.filter(({ look }) => look !== 'none');
const cosines = compared.map((one) => one.cosine);
const below = compared.filter((one) => one.cosine < least_cosine);
report({
  title: `Oracle: embeddings of ${files.length} pictures by way of opencv4nodejs and by ours`,
  json: options.json,
  facts: {
    compared: compared.length,
    'no face by either': counted(by('none')),
    'by a close-up': counted(by('closeup')),
    'by a box of the same score': counted(by('tied')),
    cosine: spread(cosines),
    'theirs decoded in full': spread(compared.map((one) => one.in_full)),
  },
  claims: [
    {
      what: 'lowest cosine of the two',
      found: [Math.min(...cosines), ...named(below)].join(' '),
      limit: `at least ${least_cosine}`,
      ok: compared.length > 0 && below.length === 0,
    },
  ],
});
