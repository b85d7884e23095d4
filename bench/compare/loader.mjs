// The load generator of one server, in a separate process. It receives jobs over IPC, and returns a window for each:
// the responses between two readings of the CPU usage. One process runs all jobs, because a new process would spend
// the window on JIT compilation.
import { setTimeout } from 'node:timers/promises';
import { Load } from '../../test/support/load.mjs';
import { cpuMsOf, mainThreadCpuMsOf, memoryOf, treeOf } from '../../test/support/programs.mjs';
import { open_loop_factor, path } from './plan.mjs';
import { bodiesOf, scenarios } from './requests.mjs';

/** Maximum length of a window that waits for its minimum number of responses, as a multiple of `seconds`. */
const maxExtension = 6;

function usage(pid) {
  const { user, system } = process.cpuUsage();
  return {
    at: performance.now(),
    server_ms: cpuMsOf(pid),
    main_thread_ms: mainThreadCpuMsOf(pid),
    generator_ms: (user + system) / 1000,
  };
}

/** `latencies` is a list of [status, ms]. */
function windowBetween(before, pid, latencies, errors) {
  const after = usage(pid);
  return {
    seconds: (after.at - before.at) / 1000,
    latencies,
    errors,
    server_ms: after.server_ms - before.server_ms,
    main_thread_ms: after.main_thread_ms - before.main_thread_ms,
    generator_ms: after.generator_ms - before.generator_ms,
    rss_mib: treeOf(pid).reduce((sum, one) => sum + memoryOf(one), 0) / 2 ** 20,
  };
}

/** Runs `clients` clients, each with one request in flight at any time. */
async function closedLoop({ pid, clients, warm_s, seconds, min_responses }, load) {
  let isOver = false;
  const running = load.closedLoop(clients, () => !isOver);
  const until = async (s, count) => {
    const start = performance.now();
    await setTimeout(s * 1000);
    while (load.responses.length < count && performance.now() - start < maxExtension * s * 1000)
      await setTimeout(20);
  };
  await until(warm_s, clients);
  const [first, lost, before] = [load.responses.length, load.lost, usage(pid)];
  await until(seconds, first + min_responses);
  const latencies = load.responses.slice(first).map(({ status, ms }) => [status, ms]);
  const window = windowBetween(before, pid, latencies, load.lost - lost);
  isOver = true;
  await running;
  return window;
}

/**
 * Sends `rate` requests per second, without waiting for responses. The latency of a request is measured from the time
 * when it was due.
 */
async function openLoop({ pid, rate, warm_s, seconds }, load) {
  await load.openLoop(rate, warm_s);
  const [first, lost, before] = [load.responses.length, load.lost, usage(pid)];
  await load.openLoop(rate, open_loop_factor * seconds);
  const latencies = load.responses.slice(first).map(({ status, ms, late_ms }) => [status, ms + late_ms]);
  return windowBetween(before, pid, latencies, load.lost - lost);
}

if (process.send) {
  process.on('message', async (job) => {
    const { key = job.key } = scenarios[job.scenario];
    const load = new Load({ port: job.port, key, path }, await bodiesOf(job.scenario, job.mode));
    const window = await (job.loop === 'open' ? openLoop : closedLoop)(job, load);
    load.close();
    process.send(window);
  });
  // Exits with the parent process.
  process.once('disconnect', () => process.exit());
}
