#!/usr/bin/env node
// Compares the figures of `facematch eval` with NumPy's. Draws random scores with a fixed seed, computes the figures
// with the laboratory and with figures.py, and prints both. Usage: node lab/check-eval/index.mjs (after a build;
// needs python3 with NumPy).
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { observe, ratePoints } from '../../dist/lab/figures.js';
import { accuracy, equalErrorRate, errorCurve } from '../../dist/lab/metrics.js';

const tolerance = 1e-9;
const people = 60;
const photos = 5;

let state = 1;
/** Returns a uniformly distributed number in [0, 1) (mulberry32). */
const uniform = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};
const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());

// Each person has a trait for mated and one for non-mated scores, so that pairs that share a person depend on each other.
const traits = Array.from({ length: people }, () => ({ own: normal(), others: normal() }));
const pairs = [];
for (let a = 0; a < people; a++) {
  for (let i = 0; i < photos; i++) {
    for (let j = 0; j < i; j++)
      pairs.push({ score: 0.6 + 0.1 * traits[a].own + 0.1 * normal(), same: true, people: [a, a] });
    for (let b = 0; b < a; b++) {
      const score = 0.05 * (traits[a].others + traits[b].others) + 0.12 * normal();
      pairs.push({ score, same: false, people: [a, b] });
    }
  }
}
const notAcquired = { mated: 7, non_mated: 40 };
const thresholds = [0.25, 0.3, 0.4, 2];

const rates = ({ fmr, fmr_interval, fnmr, fnmr_interval, far, frr }) => {
  return {
    fmr,
    fmr_low: fmr_interval[0],
    fmr_high: fmr_interval[1],
    fnmr,
    fnmr_low: fnmr_interval[0],
    fnmr_high: fnmr_interval[1],
    far,
    frr,
  };
};
const ours = {
  'equal error rate': equalErrorRate(errorCurve(pairs)),
  accuracy: accuracy(pairs).mean,
};
const add = (name, figures) => {
  for (const [key, value] of Object.entries(rates(figures))) ours[`${name}: ${key}`] = value;
};
for (const threshold of thresholds) add(`threshold ${threshold}`, observe(pairs, threshold, notAcquired));
for (const point of ratePoints(pairs, undefined, notAcquired)) add(`FMR ${point.target_fmr}`, point);

const python = spawnSync('python3', [fileURLToPath(new URL('figures.py', import.meta.url))], {
  input: JSON.stringify({
    scores: pairs.map(({ score }) => score),
    same: pairs.map(({ same }) => same),
    people: pairs.map((pair) => pair.people),
    not_acquired: notAcquired,
    thresholds,
    fmrs: ratePoints(pairs, undefined).map((point) => point.target_fmr),
  }),
  maxBuffer: 2 ** 26,
});
if (python.status !== 0) {
  console.error(String(python.stderr || python.error));
  process.exit(2);
}
const theirs = JSON.parse(python.stdout);
let different = 0;
for (const [name, value] of Object.entries(ours)) {
  const agrees = Math.abs(value - theirs[name]) <= tolerance;
  if (!agrees) different++;
  console.log(
    `${agrees ? 'equal    ' : 'DIFFERENT'}  ${name.padEnd(28)} ${value.toPrecision(8)}  ${Number(theirs[name]).toPrecision(8)}`,
  );
}
const figures = Object.keys(ours).length;
console.log(
  `${figures - different} of ${figures} figures agree within ${tolerance}, for ${pairs.length} pairs of ${people} people`,
);
process.exitCode = different === 0 ? 0 : 1;
