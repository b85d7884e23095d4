// Executes a plan: starts each contender, checks its responses, sends load, and collects the windows.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { content_type, form } from '../../test/support/load.mjs';
import { allowedCpus } from '../../test/support/programs.mjs';
import { contenders } from '../contenders/index.mjs';
import { floor } from '../lib/setup.mjs';
import { cellsOf, path, rotated, sameCell, saturating, steady_share } from './plan.mjs';
import { kindOf, pairsOf, scenarios } from './requests.mjs';

/** Minimum share of correct responses before the load. It is below 1, because a detector may miss a face. */
const min_correct_share = 0.75;

const loader = fileURLToPath(new URL('loader.mjs', import.meta.url));

/** Starts a load generator in a child process, and returns { load(job), stop() }. `load` resolves to a window. */
function startLoader(cores) {
  const [command, ...args] = [...(cores ? ['taskset', '-c', cores] : []), process.execPath, loader];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const lost = once(child, 'exit').then(([code]) => {
    throw new Error(`The load generator exited with ${code} before it returned a window`);
  });
  lost.catch(() => {}); // prevents an unhandled rejection when the generator is stopped
  return {
    async load(job) {
      child.send(job);
      const [window] = await Promise.race([once(child, 'message'), lost]);
      return window;
    },
    stop: () => child.connected && child.disconnect(),
  };
}

/**
 * Checks the responses to the first `count` pairs of a scenario. `sensible` is true if enough are correct, including at
 * least one match and one non-match.
 */
async function check({ origin, key }, scenario, mode, count) {
  if (scenario === 'rejected-key') return { asked: 0, right: 0, sensible: true };
  const pairs = (await pairsOf(kindOf(scenario))).pairs.slice(0, count);
  const right = [];
  for (const { same, files } of pairs) {
    const [image1, image2] = files.map((file) => readFileSync(file));
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': content_type },
      body: form({ image1, image2, accuracy_mode: mode }),
    });
    const result = await response.json();
    if (response.status === 200 && result.match === same) right.push(same);
  }
  const sensible =
    right.length >= min_correct_share * pairs.length && right.includes(true) && right.includes(false);
  return { asked: pairs.length, right: right.length, sensible };
}

/** Runs the floor: the native pipeline in a loop, without HTTP and Node.js. The program measures itself. */
async function measureFloor({ workers }, { scenario, mode }, { seconds }) {
  const files = (await pairsOf(kindOf(scenario))).pairs.flatMap((pair) => pair.files);
  const args = ['--mode', mode, '--threads', String(workers), '--seconds', String(seconds), ...files];
  return JSON.parse((await promisify(execFile)(floor, args)).stdout);
}

/** Starts a contender and its load generator, and warms both up. Resolves to { origin, key, load(job), stop() }. */
async function startServer(
  { contender, workers: wanted, separate_cpus = false },
  scenario,
  { settle_s, min_responses },
) {
  // `separate_cpus` runs the generator on the last CPU and the server on the others.
  const cpus = separate_cpus ? allowedCpus() : [];
  const own = cpus.length > 1 ? cpus.slice(0, -1) : [];
  const workers = own.length > 0 ? Math.min(wanted, own.length) : wanted;
  const server = await contenders[contender].start({ workers, cores: own.join(',') || undefined });
  const { origin, key, pid } = server;
  const generator = startLoader(own.length > 0 ? String(cpus.at(-1)) : undefined);
  const load = (job) => generator.load({ pid, key, port: Number(new URL(origin).port), ...job });
  const cheapest = contenders[contender].scenarios.includes('small') ? 'small' : scenario;
  const settling = { loop: 'closed', clients: saturating, scenario: cheapest, mode: 'fast' };
  await load({ ...settling, warm_s: settle_s, seconds: 0, min_responses });
  const stop = () => {
    generator.stop();
    return server.stop();
  };
  return { origin, key, load, stop };
}

/** Runs one round of a block. If a contender fails, calls `onFailure` and continues without it. */
async function runBlock(block, round, options, { servers, checks, onProgress, onFailure, onWindow }) {
  const { id, scenario, mode } = block;
  const up = new Map();
  /** Starts the server of a run if it does not run yet. The server keeps running for later blocks of the round. */
  const serverOf = async (run) => {
    const name = [run.contender, run.workers, run.separate_cpus].join();
    if (!servers.has(name)) servers.set(name, await startServer(run, scenario, options));
    return servers.get(name);
  };
  const dropContender = (run, error) => {
    up.delete(run);
    onFailure({ contender: run.contender, message: error.message });
  };
  for (const run of rotated(block.runs, round)) {
    onProgress(`starting ${run.contender}`);
    try {
      const server = run.contender === 'floor' ? undefined : await serverOf(run);
      const isSame = (one) => one.contender === run.contender && one.block === id;
      if (server && !checks.some(isSame)) {
        const checked = await check(server, scenario, mode, options.pairs_checked);
        checks.push({ block: id, contender: run.contender, ...checked });
        if (!checked.sensible) {
          throw new Error(
            `only ${checked.right} of ${checked.asked} responses before the load were correct; expected at least ` +
              `${100 * min_correct_share} %, with a match and a non-match`,
          );
        }
      }
      if (checks.find(isSame)?.sensible ?? true) up.set(run, { server, best: 0 });
    } catch (error) {
      dropContender(run, error);
    }
  }
  const { warm_s, seconds, min_responses } = options;
  for (const cell of cellsOf(block.runs)) {
    for (let turn = 0; turn < cell.turns; turn++) {
      const measured = [...up.keys()].filter((run) => run.cells.some((one) => sameCell(one, cell)));
      for (const run of rotated(measured, round + turn)) {
        onProgress(run.contender);
        const subject = up.get(run);
        const { contender, workers } = run;
        const where = { block: id, contender, workers, clients: cell.clients, round, turn };
        try {
          if (contender === 'floor') {
            onWindow({ ...where, loop: 'floor', ...(await measureFloor(run, block, options)) });
            continue;
          }
          const { loop, clients } = cell;
          const rate = loop === 'open' ? Math.max(1, subject.best * steady_share) : undefined;
          const job = { loop, clients, rate, scenario, mode, warm_s, seconds, min_responses };
          const window = await subject.server.load(job);
          const { expects = [200] } = contender === 'hello' ? {} : scenarios[scenario];
          onWindow({ ...where, loop, rate, expects, ...window });
          const expectedResponses = window.latencies.filter(([status]) => expects.includes(status)).length;
          subject.best = Math.max(subject.best, expectedResponses / window.seconds);
        } catch (error) {
          dropContender(run, error);
          for (const [name, server] of servers) if (server === subject.server) servers.delete(name);
          await subject.server?.stop();
        }
      }
    }
  }
}

/** Resolves to { windows, checks, failures }. Calls `onProgress` with a description of each step. */
export async function runPlan(plan, options, onProgress) {
  const results = { windows: [], checks: [], failures: [] };
  for (let round = 0; round < options.rounds; round++) {
    const servers = new Map();
    try {
      for (const block of plan) {
        await runBlock(block, round, options, {
          servers,
          checks: results.checks,
          onProgress: (what) => onProgress(`round ${round + 1} of ${options.rounds}, ${block.id}: ${what}`),
          onFailure: (failure) => results.failures.push({ round, block: block.id, ...failure }),
          onWindow: (window) => results.windows.push(window),
        });
      }
    } finally {
      await Promise.all([...servers.values()].map((server) => server.stop()));
    }
  }
  return results;
}
