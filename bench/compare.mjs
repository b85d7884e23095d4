// Compares facematch with its peers and with the limit of the machine:
//   npm run bench -- [--quick] [--with NAME] [--contenders NAME,…] [--only SCENARIO,…] [--rounds N] [--seconds S] [--out FILE] [--json]
//   npm run bench -- --report [--out FILE]
// --quick       one round of the cells that the figures need; two minutes
// --with        contenders that are left out otherwise: opencv4nodejs, which takes long to set up; facematch-node
// --contenders, --only  only these
// --out         where the results go (build/bench/results.json)
// --json        the results on standard output, and nothing else there
// --report      measures nothing: puts the results into docs/research/benchmarks.md
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SetupError } from '../scripts/lib/run.mjs';
import { endOnSignals, root } from '../test/support/programs.mjs';
import { environment, flags, progress } from '../test/support/report.mjs';
import { consoleText, resultsText, writePage } from './compare/page.mjs';
import { planOf } from './compare/plan.mjs';
import { kindOf, pairsOf, scenarios } from './compare/requests.mjs';
import { figuresOf, rowsOf } from './compare/results.mjs';
import { carryOut } from './compare/run.mjs';
import { contenders, versionsOf } from './contenders/index.mjs';
import { setUp } from './lib/setup.mjs';

/**
 * A fresh server gets `settle_s` of load before its first window: some thousands of requests, until JIT
 * compilation is complete, as in a server that has run for a minute. `warm_s` of load precede every window of
 * `seconds`, which has at least `least` responses if they arrive in time. A round has `turns` windows of each
 * cell that figures use, and one of the others.
 */
const thorough = { rounds: 2, turns: 4, seconds: 4, settle_s: 25, warm_s: 1.5, least: 30, pairs_checked: 8 };
const quick = { rounds: 1, turns: 1, seconds: 1.2, settle_s: 2, warm_s: 0.7, least: 4, pairs_checked: 4 };

const given = flags({
  ...{ quick: false, json: false, report: false, with: '', contenders: '', only: '' },
  ...{ rounds: 0, seconds: 0, out: join(root, 'build/bench/results.json') },
});
const file = resolve(given.out);

/** Returns the words of a flag; all of `list` without it. Throws an Error with a readable line. */
function someOf(name, list) {
  if (given[name] === '') return list;
  const words = given[name].split(',');
  const wrong = words.find((word) => !list.includes(word));
  if (wrong === undefined) return words;
  throw new SetupError(`--${name}: expected some of ${list.join(', ')} but received ${wrong}`);
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
  const { windows, checks, failures } = await carryOut(plan, options, progress);
  progress('');
  const results = {
    schema: 2,
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
