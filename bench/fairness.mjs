// Two keys at one server: one floods it, the other sends one match after the other. What is left for the other?
//   node bench/fairness.mjs [--rounds 3] [--seconds 12] [--flood 24] [--json]
// The server runs on one core with one worker and its queue of 8, the generator on another. A round: the other key alone,
// then beside as many clients of the flooding key as --flood says, which try again at once when they are refused. Keep the
// machine quiet meanwhile.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { form, Load, lasting } from '../test/support/load.mjs';
import { portraits } from '../test/support/portraits.mjs';
import { bindTo, endOnSignals, makeKey, startServer } from '../test/support/programs.mjs';
import { flags, progress, report } from '../test/support/report.mjs';

const options = flags({ rounds: 3, seconds: 12, flood: 24, json: false });
/** A match of the other key waits for one of the flooding key, at most; the rest is CPU time that the refusals take. */
const most_times = 6;

endOnSignals();
bindTo(1);
const folder = mkdtempSync(join(tmpdir(), 'facematch-fairness-'));
const keysFile = join(folder, 'keys.json');
const keys = { flood: makeKey(keysFile), other: makeKey(keysFile) };

const pictures = await portraits([{ width: 250, height: 250, format: 'jpeg' }]);
const bodies = pictures.map(({ bytes }, index) =>
  form({ image1: bytes, image2: pictures.at(index - 1).bytes }),
);

const round1 = (value) => Math.round(value * 10) / 10;
const quantile = (values, share) =>
  round1(values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0);

/** What the clients of one key saw. */
function seen({ answers, lost, stray }) {
  const times = answers.filter(({ status }) => status === 200).map(({ ms }) => ms);
  return {
    answered: times.length,
    refused: answers.filter(({ status }) => status === 503).length,
    p50_ms: quantile(times, 0.5),
    p99_ms: quantile(times, 0.99),
    faults:
      answers.length - times.length - answers.filter(({ status }) => status === 503).length + lost + stray,
  };
}

async function oneRound(server) {
  const load = (key) => new Load({ port: server.port, key }, bodies);
  const alone = load(keys.other);
  await alone.closedLoop(1, lasting(options.seconds));
  const [flood, beside] = [load(keys.flood), load(keys.other)];
  const goesOn = lasting(options.seconds);
  await Promise.all([flood.closedLoop(options.flood, goesOn), beside.closedLoop(1, goesOn)]);
  for (const one of [alone, flood, beside]) one.close();
  return { alone: seen(alone), beside: seen(beside), flood: seen(flood) };
}

const rounds = [];
const load_before = round1(loadavg()[0]);
const server = await startServer({
  cores: '0',
  env: { FACEMATCH_WORKERS: '1', FACEMATCH_KEYS_FILE: keysFile },
});
// Before measuring, for JIT compilation.
await new Load({ port: server.port, key: keys.other }, bodies).closedLoop(2, lasting(2));
for (let number = 1; number <= options.rounds; number++) {
  progress(`round ${number} of ${options.rounds}`);
  rounds.push(await oneRound(server));
  progress('');
  if (!options.json) console.log(JSON.stringify(rounds.at(-1)));
}
await server.stop();
rmSync(folder, { recursive: true, force: true });

const claim = (what, values, limit, ok) => ({ what, found: values.join(', '), limit, ok: values.every(ok) });
report({
  title: `Fairness: one key alone and beside ${options.flood} clients of another, ${options.rounds} rounds, one core and one worker`,
  json: options.json,
  facts: { load_before, rounds },
  claims: [
    claim(
      "refusals of the other key's requests",
      rounds.map(({ beside }) => beside.refused),
      'none',
      (refused) => refused === 0,
    ),
    claim(
      "the other key's p99 beside the flood, in ms",
      rounds.map(({ beside }) => beside.p99_ms),
      `at most ${most_times} times its median alone: ${rounds.map(({ alone }) => round1(most_times * alone.p50_ms)).join(', ')}`,
      (p99) => p99 <= most_times * Math.min(...rounds.map(({ alone }) => alone.p50_ms)),
    ),
    claim(
      'requests lost, stray answers, other statuses',
      rounds.flatMap((round) => Object.values(round).map(({ faults }) => faults)),
      'none',
      (faults) => faults === 0,
    ),
  ],
});
