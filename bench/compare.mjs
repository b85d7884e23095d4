// Compares facematch with its peers and with the limit of the machine: `npm run bench`, see `npm run bench -- --help`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SetupError } from '../scripts/lib/run.mjs';
import { endOnSignals, root } from '../test/support/programs.mjs';
import { environment, progress } from '../test/support/report.mjs';
import { consoleText, resultsText, writePage } from './compare/page.mjs';
import { minutesOf, planOf } from './compare/plan.mjs';
import { kindsIn, pairsOf, scenarios } from './compare/requests.mjs';
import { figuresOf, rowsOf } from './compare/results.mjs';
import { carryOut } from './compare/run.mjs';
import { contenders, versionsOf } from './contenders/index.mjs';
import { setUp } from './lib/setup.mjs';

const standardFile = join(root, 'build/bench/results.json');
const usage = `npm run bench -- [OPTION…]
  --quick                one round of the cells that the figures need; two minutes
  --with NAME            a contender that takes long to set up as well (opencv4nodejs)
  --contenders NAME,…    only these
  --only SCENARIO,…      only these
  --rounds N  --seconds S  --workers N
  --out FILE             where the results go (build/bench/results.json)
  --json                 the results on standard output, and nothing else there
  --report [FILE]        measures nothing: puts results into docs/benchmarks.md`;

/**
 * A fresh server gets `settle_s` of load before its first window: some thousands of requests, until JIT compilation is
 * complete, as in a server that has run for a minute. `warm_s` of load precede every window of `seconds`, which has at least
 * `least` answers if they come in time. A round has `turns` windows of each cell that figures use, and one of the others.
 */
const thorough = { rounds: 2, turns: 4, seconds: 4, settle_s: 25, warm_s: 1.5, least: 30, pairs_checked: 8 };
const quick = { rounds: 1, turns: 1, seconds: 1.2, settle_s: 2, warm_s: 0.7, least: 4, pairs_checked: 4 };

function someOf(name, list, text) {
  const words = text.split(',').filter(Boolean);
  const wrong = words.find((word) => !list.includes(word));
  if (wrong === undefined && words.length > 0) return words;
  throw new Error(`--${name}: expected some of ${list.join(', ')} but received ${wrong ?? 'nothing'}`);
}

/** Throws an Error with a readable line. */
function readOptions(args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    args,
    options: {
      ...{ quick: flag, json: flag, with: text, contenders: text, only: text },
      ...{ rounds: text, seconds: text, workers: text, out: text },
    },
  });
  const options = { ...(values.quick ? quick : thorough), workers: 2 };
  for (const name of ['rounds', 'seconds', 'workers']) {
    if (values[name] === undefined) continue;
    options[name] = name === 'seconds' ? Number(values[name]) : Math.ceil(Number(values[name]));
    if (!(options[name] > 0)) throw new Error(`--${name}: expected a number above 0`);
  }
  const known = Object.keys(contenders);
  const optional = values.with === undefined ? [] : someOf('with', known, values.with);
  return {
    ...options,
    quick: values.quick,
    json: values.json,
    file: resolve(values.out ?? standardFile),
    clients: values.quick ? [8] : [1, 8, 32, 128],
    contenders: values.contenders
      ? someOf('contenders', known, values.contenders)
      : known.filter((name) => !contenders[name].optional || optional.includes(name)),
    scenarios: values.only ? someOf('only', Object.keys(scenarios), values.only) : Object.keys(scenarios),
  };
}

async function measure(args) {
  const { file, json, ...options } = readOptions(args);
  const plan = planOf(options);
  await setUp(options.contenders);
  const pictures = {};
  for (const kind of new Set(plan.flatMap(({ scenario }) => kindsIn(scenario))))
    pictures[kind] = (await pairsOf(kind)).source;
  const described = options.contenders
    .filter((name) => name !== 'floor')
    .map((name) => {
      const { title, how, packages } = contenders[name];
      return [name, { title, how, versions: versionsOf(packages) }];
    });
  const say = (text) => process.stderr.write(`${text}\n`);
  say(`About ${minutesOf(plan, options)} min. Leave the machine alone meanwhile.`);
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
  console.log(json ? JSON.stringify(results) : consoleText(results));
  say(`Results: ${file}`);
  for (const { block, contender, message } of failures) say(`✗ ${block}, ${contender}: ${message}`);
  if (failures.length > 0) process.exitCode = 1;
}

const args = process.argv.slice(2);
endOnSignals();
try {
  if (args.includes('--help')) console.log(usage);
  else if (args[0] === '--report')
    writePage(JSON.parse(readFileSync(resolve(args[1] ?? standardFile), 'utf8')));
  else await measure(args);
} catch (error) {
  const expected = error instanceof SetupError || error.code?.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`✗ ${expected || error.constructor === Error ? error.message : error.stack}\n`);
  process.exit(1);
}
