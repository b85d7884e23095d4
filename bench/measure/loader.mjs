// The generator of load, in a process of its own. It is told jobs over IPC, one after the other, and answers each with a window.
import autocannon from 'autocannon';
import { Load } from '../lib/load.mjs';
import { path, requestsOf } from '../scenarios/index.mjs';
import { open_longer } from './plan.mjs';
import { cpuOf, mainThreadCpuOf, rssOf } from './usage.mjs';

/** A request may wait behind as many as there are clients. */
const timeout_s = 300;
/** So many times its length a measurement may last to see its fewest answers. */
const stretch = 6;

/** Of `rested`: one look every so often, and for how long at most. */
const look_ms = 200;
const patience_s = 60;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const usage = (pid) => ({
  at: performance.now(),
  server_ms: cpuOf(pid),
  main_thread_ms: mainThreadCpuOf(pid),
  generator_ms: (({ user, system }) => (user + system) / 1000)(process.cpuUsage()),
});

/**
 * A server may go on with what it has begun for clients that are gone, a slow one for seconds, in the midst of what is
 * measured next: resolves when it takes less than a tenth of a CPU, or when `patience_s` have passed.
 */
async function rested(pid) {
  const start = performance.now();
  let before;
  let now = cpuOf(pid);
  do {
    await wait(look_ms);
    before = now;
    now = cpuOf(pid);
  } while (now - before >= look_ms / 10 && performance.now() - start < patience_s * 1000);
}

/** The window between two looks at the usage, as measure/sample.mjs takes it. `answers` are [status, ms]. */
const windowOf = (answers, before, after, { pid, errors }) => ({
  seconds: (after.at - before.at) / 1000,
  answers,
  errors,
  server_ms: after.server_ms - before.server_ms,
  main_thread_ms: after.main_thread_ms - before.main_thread_ms,
  generator_ms: after.generator_ms - before.generator_ms,
  rss_mib: rssOf(pid),
  peak_rss_mib: rssOf(pid, 'VmHWM'),
});

/** So many clients, each with one request on its way at any time. */
async function closedLoop({ server, clients, warm_s, seconds, least }, requests) {
  let answers = [];
  let errors = 0;
  const all = [];
  const load = autocannon({
    url: server.address,
    connections: clients,
    duration: 1e6,
    timeout: timeout_s,
    // autocannon copies its requests for every client, which for large pictures is gigabytes: all share these instead.
    setupClient(client) {
      let next = all.push(client) - 1;
      client.getRequestBuffer = () => requests[next++ % requests.length].bytes;
    },
  });
  load.on('response', (_client, status, _bytes, ms) => answers.push([Number(status), ms]));
  load.on('reqError', () => {
    errors += 1;
  });
  const until = async (s, count) => {
    const start = performance.now();
    const lasted = () => (performance.now() - start) / 1000;
    await wait(s * 1000);
    while (answers.length < count && lasted() < stretch * s) await wait(20);
  };
  await until(warm_s, clients);
  answers = [];
  const before = usage(server.pid);
  await until(seconds, least);
  const window = windowOf(answers, before, usage(server.pid), { pid: server.pid, errors });
  // autocannon's own stop() would go on asking until its next second.
  for (const client of all) client.destroy();
  return window;
}

/** So many requests a second, whether or not those before have been answered: latency counts from when each was due. */
async function openLoop({ server, rate, warm_s, seconds }, requests) {
  const bodies = requests.map(({ body }) => body);
  const target = { key: server.key, port: Number(new URL(server.address).port) };
  const warm = new Load(target, bodies, path);
  await warm.openLoop(rate, warm_s);
  warm.close();
  const load = new Load(target, bodies, path);
  const before = usage(server.pid);
  await load.openLoop(rate, open_longer * seconds);
  const answers = load.answers.map(({ status, ms, late_ms }) => [status, ms + late_ms]);
  const window = windowOf(answers, before, usage(server.pid), { pid: server.pid, errors: load.lost });
  load.close();
  return window;
}

const loops = { closed: closedLoop, open: openLoop };

process.on('message', async (job) => {
  const requests = await requestsOf(job.scenario, { mode: job.mode, ...job.server });
  const window = await loops[job.loop](job, requests);
  await rested(job.server.pid);
  process.send(window);
});
// Nobody is there any more to hear an answer.
process.once('disconnect', () => process.exit());
