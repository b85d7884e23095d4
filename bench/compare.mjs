// facematch beside its peers and beside what the machine allows: `npm run bench`, see `npm run bench -- --help`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SetupError } from '../scripts/lib/run.mjs';
import { contenders } from './contenders/index.mjs';
import { versionsOf } from './contenders/versions.mjs';
import { root } from './lib/paths.mjs';
import { environment, progress } from './lib/report.mjs';
import { readOptions, usage } from './measure/options.mjs';
import { planOf, secondsOf } from './measure/plan.mjs';
import { carryOut } from './measure/run.mjs';
import { consoleText } from './results/console.mjs';
import { figuresOf } from './results/figures.mjs';
import { kindsIn, preparePictures, scenarios } from './scenarios/index.mjs';
import { setUp } from './setup/index.mjs';

const standardFile = join(root, 'build/bench/results.json');

function write(file, results) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}

async function measure(args) {
  const options = readOptions(args);
  const plan = planOf(options);
  await setUp(options.contenders);
  const kinds = [...new Set(plan.flatMap(({ scenario }) => kindsIn(scenario)))];
  const pictures = await preparePictures(kinds);
  const file = resolve(options.out ?? standardFile);
  const described = options.contenders
    .filter((name) => name !== 'floor')
    .map((name) => {
      const { title, how, packages } = contenders[name];
      return [name, { title, how, versions: versionsOf(packages) }];
    });
  const facts = {
    schema: 1,
    environment: environment(),
    options,
    contenders: Object.fromEntries(described),
    scenarios: Object.fromEntries(options.scenarios.map((name) => [name, scenarios[name].what])),
    pictures,
  };
  const say = (text) => process.stderr.write(`${text}\n`);
  say(
    `${plan.length} comparisons, ${options.rounds} rounds: about ${Math.ceil(secondsOf(plan, options) / 60)} min. Leave the machine alone meanwhile.`,
  );
  const measured = await carryOut(plan, options, {
    onProgress: ({ round, block, what }) =>
      progress(`round ${round + 1} of ${options.rounds}, ${block.id}: ${what}`),
    onBlock: (so_far) => write(file, { ...facts, ...so_far, figures: figuresOf(so_far.samples) }),
  });
  progress('');
  const results = { ...facts, ...measured, figures: figuresOf(measured.samples) };
  write(file, results);
  if (options.json) console.log(JSON.stringify(results));
  else console.log(consoleText(results));
  say(`Results: ${file}`);
  for (const { block, contender, message } of measured.failures) say(`✗ ${block}, ${contender}: ${message}`);
  if (measured.failures.length > 0) process.exitCode = 1;
}

async function report(file) {
  const { writePage } = await import('./results/page.mjs');
  for (const path of writePage(resolve(file ?? standardFile))) console.log(path);
}

const args = process.argv.slice(2);
try {
  if (args.includes('--help')) console.log(usage);
  else if (args[0] === '--report') await report(args[1]);
  else await measure(args);
} catch (error) {
  const expected = error instanceof SetupError || error.code?.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`✗ ${expected || error.constructor === Error ? error.message : error.stack}\n`);
  process.exit(1);
}
