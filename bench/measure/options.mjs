// What `npm run bench` can be told.
import { parseArgs } from 'node:util';
import { contenders } from '../contenders/index.mjs';
import { scenarios } from '../scenarios/index.mjs';

export const usage = `npm run bench -- [OPTION…]
  --quick                one round of the cells that the table of figures needs; two minutes
  --with NAME            a contender that takes long to set up as well (opencv4nodejs)
  --contenders NAME,…    only these
  --only SCENARIO,…      only these
  --rounds N  --turns N  --seconds S  --clients N,…
  --workers N            of every server; the figures are stated for 2
  --out FILE             where the results go (build/bench/results.json)
  --json                 the results on standard output, and nothing else there
  --report [FILE]        measures nothing: writes docs/benchmarks.md out of results`;

/** Unlike the floor, these are servers. */
export const known = ['floor', ...Object.keys(contenders)];

/**
 * `settle_s` of load come before a fresh server's first window: some thousands of requests, until its JIT compilers are
 * through with it, as they are in a server that has been up for a minute. `warm_s` come before every window of `seconds`.
 * A round has `turns` windows of each cell that figures are made of, and one of the others.
 */
const thorough = {
  rounds: 2,
  turns: 4,
  seconds: 4,
  settle_s: 25,
  warm_s: 1.5,
  least: 30,
  clients: [1, 8, 32, 128],
  pairs_checked: 8,
};
const quick = {
  rounds: 1,
  turns: 1,
  seconds: 1.2,
  settle_s: 2,
  warm_s: 0.7,
  least: 4,
  clients: [8],
  pairs_checked: 4,
};

function positive(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name}: expected a number above 0 but received ${text}`);
  return value;
}

function oneOf(name, list, text) {
  const words = text.split(',').filter(Boolean);
  const wrong = words.find((word) => !list.includes(word));
  if (wrong !== undefined || words.length === 0) {
    throw new Error(`--${name}: expected some of ${list.join(', ')} but received ${wrong ?? 'nothing'}`);
  }
  return words;
}

/** Throws an Error with one line for people. */
export function readOptions(args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    args,
    options: {
      quick: flag,
      json: flag,
      with: { type: 'string', multiple: true, default: [] },
      contenders: text,
      only: text,
      rounds: text,
      turns: text,
      seconds: text,
      clients: text,
      workers: { type: 'string', default: '2' },
      out: text,
    },
  });
  const options = {
    ...(values.quick ? quick : thorough),
    quick: values.quick,
    json: values.json,
    out: values.out,
  };
  for (const name of ['rounds', 'turns', 'seconds']) {
    if (values[name] !== undefined) options[name] = positive(name, values[name]);
  }
  options.rounds = Math.ceil(options.rounds);
  options.turns = Math.ceil(options.turns);
  options.workers = Math.ceil(positive('workers', values.workers));
  if (values.clients !== undefined) {
    options.clients = values.clients.split(',').map((count) => Math.ceil(positive('clients', count)));
  }
  const optional = oneOf('with', known, ['facematch', ...values.with].join(','));
  options.contenders =
    values.contenders !== undefined
      ? oneOf('contenders', known, values.contenders)
      : known.filter((name) => !contenders[name]?.optional || optional.includes(name));
  options.scenarios =
    values.only !== undefined ? oneOf('only', Object.keys(scenarios), values.only) : Object.keys(scenarios);
  return options;
}
