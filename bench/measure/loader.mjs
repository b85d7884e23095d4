// The generator of load, in a process of its own. It is told one job over IPC, answers one sample, and ends.
import autocannon from 'autocannon';
import { Load } from '../lib/load.mjs';
import { latencies } from '../results/statistics.mjs';
import { path, requestsOf } from '../scenarios/index.mjs';
import { cpuOf, mainThreadCpuOf, rssOf } from './usage.mjs';

/** A request may wait behind as many as there are clients. */
const timeout_s = 300;
/** So many times its length a measurement may last to see its fewest answers. */
const stretch = 6;
/** An open loop is asked for its slowest answers, and so must see more of them. */
const longer = 3;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const usage = (pid) => ({
  at: performance.now(),
  server_ms: cpuOf(pid),
  main_thread_ms: mainThreadCpuOf(pid),
  generator_ms: (({ user, system }) => (user + system) / 1000)(process.cpuUsage()),
});

/** The sample of what came between two looks at the usage. `answers` are [status, ms]. */
function summarise(answers, before, after, { pid, expects, errors }) {
  const counted = answers.filter(([status]) => expects.includes(status));
  const statuses = {};
  for (const [status] of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  const seconds = (after.at - before.at) / 1000;
  return {
    seconds,
    answers: counted.length,
    statuses,
    errors,
    requests_per_second: counted.length / seconds,
    latency_ms: latencies(counted.map(([, ms]) => ms)),
    // Of all answers: a refusal costs as well.
    cpu_ms: (after.server_ms - before.server_ms) / answers.length,
    main_thread_cpu_ms: (after.main_thread_ms - before.main_thread_ms) / answers.length,
    generator_cpu_ms: (after.generator_ms - before.generator_ms) / answers.length,
    cores: (after.server_ms - before.server_ms) / (after.at - before.at),
    rss_mib: rssOf(pid),
    peak_rss_mib: rssOf(pid, 'VmHWM'),
  };
}

/** So many clients, each with one request on its way at any time. */
async function closedLoop({ server, clients, warm_s, seconds, least, expects }, requests) {
  let answers = [];
  let errors = 0;
  let place = 0;
  const load = autocannon({
    url: server.address,
    connections: clients,
    duration: 1e6,
    timeout: timeout_s,
    // autocannon copies its requests for every client, which for large pictures is gigabytes: all share these instead.
    setupClient(client) {
      let next = place++;
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
    while (lasted() < s || (answers.length < count && lasted() < stretch * s)) await wait(20);
  };
  await until(warm_s, clients);
  answers = [];
  const before = usage(server.pid);
  await until(seconds, least);
  return summarise(answers, before, usage(server.pid), { pid: server.pid, expects, errors });
}

/** So many requests a second, whether or not those before have been answered: latency counts from when each was due. */
async function openLoop({ server, rate, warm_s, seconds, expects }, requests) {
  const bodies = requests.map(({ body }) => body);
  const target = { key: server.key, port: Number(new URL(server.address).port) };
  await new Load(target, bodies, path).openLoop(rate, warm_s);
  const load = new Load(target, bodies, path);
  const before = usage(server.pid);
  await load.openLoop(rate, longer * seconds);
  const answers = load.answers.map(({ status, ms, late_ms }) => [status, ms + late_ms]);
  return summarise(answers, before, usage(server.pid), { pid: server.pid, expects, errors: load.lost });
}

const loops = { closed: closedLoop, open: openLoop };

process.once('message', async (job) => {
  const requests = await requestsOf(job.scenario, { mode: job.mode, ...job.server });
  const sample = await loops[job.loop](job, requests);
  process.send(sample, () => process.exit(0));
});
// Nobody is there any more to hear the answer.
process.on('disconnect', () => process.exit(1));
