// Carries out a plan: starts each contender, sees that it answers sensibly, loads it, and collects the samples.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { contenders } from '../contenders/index.mjs';
import { kindsIn, scenarios } from '../scenarios/index.mjs';
import { pairsOf } from '../scenarios/pictures.mjs';
import { programs } from '../setup/native.mjs';
import { check } from './check.mjs';
import { apart } from './cores.mjs';
import { rotated } from './plan.mjs';

const loader = fileURLToPath(new URL('loader.mjs', import.meta.url));

/** One job for the generator, in a process of its own. */
export async function load(job, cores) {
  const [command, ...args] = [...(cores ? ['taskset', '-c', cores] : []), process.execPath, loader];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The generator of load ended with ${code} and no sample`);
  });
  child.send(job);
  const [sample] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => {}); // it ends as it should
  return sample;
}

async function floorSamples({ workers }, { scenario, mode }, options) {
  const files = (await pairsOf(kindsIn(scenario)[0])).pairs.flatMap((pair) => pair.files);
  const args = ['--mode', mode, '--threads', String(workers), '--seconds', String(options.seconds), ...files];
  const { stdout } = await promisify(execFile)(programs.floor, args);
  const { threads: _, mode: __, ...measured } = JSON.parse(stdout);
  return [{ loop: 'floor', ...measured }];
}

/** `best` of the cells before is what an open loop's rate is a share of. */
async function serverSamples(run, { scenario, mode, id }, options, checks) {
  const cores = run.apart ? apart() : undefined;
  const workers = cores ? Math.min(run.workers, cores.room) : run.workers;
  const contender = contenders[run.contender];
  const server = await contender.start({ workers, cores: cores?.server });
  try {
    const known = checks.find((one) => one.contender === run.contender && one.block === id);
    const checked = known ?? {
      ...(await check(server, scenario, mode, options.pairs_checked)),
      contender: run.contender,
      block: id,
    };
    if (known === undefined) checks.push(checked);
    if (!checked.sensible) return [];
    const samples = [];
    let best = 0;
    for (const { loop, clients, share } of run.cells) {
      const rate = share === undefined ? undefined : Math.max(1, best * share);
      const { settle_s, seconds, least } = options;
      const warm_s = samples.length === 0 ? Math.max(settle_s, options.warm_s) : options.warm_s;
      const { pid, address, key } = server;
      const expects = run.contender === 'hello' ? [200] : scenarios[scenario].expects;
      const job = {
        loop,
        clients,
        rate,
        scenario,
        mode,
        warm_s,
        seconds,
        least,
        expects,
        server: { pid, address, key },
      };
      const sample = await load(job, cores?.generator);
      best = Math.max(best, sample.requests_per_second);
      samples.push({ loop, clients, rate, apart: run.apart ?? false, workers, ...sample });
    }
    return samples;
  } finally {
    await server.stop();
  }
}

/**
 * Answers { samples, checks, failures }. `onProgress` is told of each contender before it starts, and `onBlock` gets what
 * there is after each block, so that an hour's work survives its last minute.
 */
export async function carryOut(plan, options, { onProgress = () => {}, onBlock = () => {} }) {
  const results = { samples: [], checks: [], failures: [] };
  for (let round = 0; round < options.rounds; round++) {
    for (const block of plan) {
      for (const run of rotated(block.runs, round)) {
        const { contender } = run;
        onProgress({ round, block, contender });
        const { scenario, mode, id } = block;
        try {
          const samples =
            contender === 'floor'
              ? await floorSamples(run, block, options)
              : await serverSamples(run, block, options, results.checks);
          const facts = { round, block: id, contender, scenario, mode, workers: run.workers };
          results.samples.push(...samples.map((sample) => ({ ...facts, ...sample })));
        } catch (error) {
          results.failures.push({ round, block: id, contender, message: error.message });
        }
      }
      onBlock(results);
    }
  }
  return results;
}
