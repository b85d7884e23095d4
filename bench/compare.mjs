// Compares facematch with its peers and with the limit of the machine:
//   npm run bench -- [--quick] [--with NAME] [--contenders NAME,…] [--only SCENARIO,…] [--rounds N] [--seconds S] [--out FILE] [--json]
//   npm run bench -- --report [--out FILE]
// --quick       one round of the measurements that the figures need; takes two minutes
// --with        also measure these contenders: opencv4nodejs, whose setup takes ten minutes, or facematch-node
// --contenders  measure only these contenders
// --only        measure only these scenarios
// --out         results file (default: build/bench/results.json)
// --json        print only the results, as JSON
// --report      do not measure; write the results file into docs/research/benchmarks.md
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SetupError } from '../scripts/lib/run.mjs';
import { endOnSignals, root } from '../test/support/programs.mjs';
import { environment, flags, progress } from '../test/support/report.mjs';
import { consoleText, resultsText, writePage } from './compare/page.mjs';
import { planOf } from './compare/plan.mjs';
import { kindOf, pairsOf, scenarios } from './compare/requests.mjs';
import { figuresOf, rowsOf } from './compare/results.mjs';
import { runPlan } from './compare/run.mjs';
import { contenders, versionsOf } from './contenders/index.mjs';
import { setUp } from './lib/setup.mjs';

/**
 * `settle_s`: seconds of load on a new server before its first window, until JIT compilation is complete. `warm_s`:
 * seconds of load before each window. `seconds`: length of a window, which is extended until it has `min_responses`.
 * `turns`: number of windows per round of each cell that a figure uses; other cells have one. `pairs_checked`: number
 * of pairs whose responses are checked before the load.
 */
const thorough = {
  ...{ rounds: 2, turns: 4, seconds: 4, settle_s: 25, warm_s: 1.5 },
  ...{ min_responses: 30, pairs_checked: 8 },
};
const quick = {
  ...{ rounds: 1, turns: 1, seconds: 1.2, settle_s: 2, warm_s: 0.7 },
  ...{ min_responses: 4, pairs_checked: 4 },
};

const given = flags({
  ...{ quick: false, json: false, report: false, with: '', contenders: '', only: '' },
  ...{ rounds: 0, seconds: 0, out: join(root, 'build/bench/results.json') },
});
const file = resolve(given.out);

/** Returns the values of a flag, or all of `list` without the flag. Throws a SetupError for an unknown value. */
function someOf(name, list) {
  if (given[name] === '') return list;
  const words = given[name].split(',');
  const wrong = words.find((word) => !list.includes(word));
  if (wrong === undefined) return words;
  throw new SetupError(`--${name}: unknown value ${wrong}; expected values of ${list.join(', ')}`);
}

function readOptions() {
  const { quick: isQuick, rounds, seconds } = given;
  const known = Object.keys(contenders);
  const optional = given.with === '' ? [] : someOf('with', known);
  const usual = known.filter((name) => !contenders[name].optional || optional.includes(name));
  return {
    ...(isQuick ? quick : thorough),
    ...(rounds > 0 && { rounds }),
    ...(seconds > 0 && { seconds }),
    workers: 2,
    quick: isQuick,
    clients: isQuick ? [8] : [1, 8, 32, 128],
    contenders: given.contenders === '' ? usual : someOf('contenders', known),
    scenarios: someOf('only', Object.keys(scenarios)),
  };
}

async function measure() {
  const options = readOptions();
  const plan = planOf(options);
  await setUp(options.contenders);
  const pictures = {};
  for (const kind of new Set(plan.map(({ scenario }) => kindOf(scenario))))
    pictures[kind] = (await pairsOf(kind)).source;
  const described = options.contenders
    .filter((name) => name !== 'floor')
    .map((name) => {
      const { title, how, packages } = contenders[name];
      return [name, { title, how, versions: versionsOf(packages) }];
    });
  const say = (text) => process.stderr.write(`${text}\n`);
  const { windows, checks, failures } = await runPlan(plan, options, progress);
  progress('');
  const results = {
    schema: 3,
    environment: environment(),
    options,
    contenders: Object.fromEntries(described),
    scenarios: Object.fromEntries(options.scenarios.map((name) => [name, scenarios[name].what])),
    pictures,
    figures: figuresOf(windows),
    rows: rowsOf(windows),
    checks,
    failures,
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, resultsText(results));
  console.log(given.json ? JSON.stringify(results) : consoleText(results));
  say(`Results: ${file}`);
  for (const { block, contender, message } of failures) say(`✗ ${block}, ${contender}: ${message}`);
  if (failures.length > 0) process.exitCode = 1;
}

endOnSignals();
try {
  if (given.report) writePage(JSON.parse(readFileSync(file, 'utf8')));
  else await measure();
} catch (error) {
  process.stderr.write(`✗ ${error instanceof SetupError ? error.message : error.stack}\n`);
  process.exit(1);
}
