// What the surroundings of the process are worth: another allocator, huge pages, workers pinned to CPUs.
//   node bench/surroundings.mjs [--rounds N] [--seconds N] [--json]
// Eight clients, as many workers as CPUs, mode fast; each variant a fresh process, the order another in each round. CPU
// time and resident memory ÷ those of the plain process of the same round, in medians; "again" is the plain process once
// more. Allocators take part where Debian's packages libjemalloc2 and libmimalloc2.0 are installed.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { startFacematch } from './contenders/facematch.mjs';
import { environment, flags, progress } from './lib/report.mjs';
import { rotated, saturating } from './measure/plan.mjs';
import { load } from './measure/run.mjs';
import { loadSample } from './measure/sample.mjs';
import { cpuOfStat } from './measure/usage.mjs';
import { columns } from './results/console.mjs';
import { median } from './results/statistics.mjs';
import { number } from './results/tables.mjs';
import { preparePictures } from './scenarios/index.mjs';

const options = flags({ rounds: 3, seconds: 4, json: false });
const workers = availableParallelism();

const multiarch = execFileSync('gcc', ['-print-multiarch'], { encoding: 'utf8' }).trim();
const library = (name) => `/usr/lib/${multiarch}/${name}`;
const preloaded = (name) => ({ env: { LD_PRELOAD: library(name) }, there: existsSync(library(name)) });

/** Each of the threads that have worked most, the main thread left out, on a CPU of its own. */
function pin({ pid }) {
  const used = (thread) => cpuOfStat(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'));
  const busiest = readdirSync(`/proc/${pid}/task`)
    .filter((thread) => thread !== String(pid))
    .sort((a, b) => used(b) - used(a))
    .slice(0, workers);
  for (const [cpu, thread] of busiest.entries()) execFileSync('taskset', ['-cp', String(cpu), thread]);
}

const variants = {
  plain: {},
  again: {},
  'huge pages (glibc.malloc.hugetlb=1)': { env: { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' } },
  jemalloc: preloaded('libjemalloc.so.2'),
  mimalloc: preloaded('libmimalloc.so.2.0'),
  'workers pinned': { prepare: pin },
};

async function sampleOf({ env, prepare }, scenario) {
  const server = await startFacematch({ workers, env });
  try {
    const { pid, address, key } = server;
    const job = {
      loop: 'closed',
      clients: saturating,
      scenario,
      mode: 'fast',
      least: 30,
      warm_s: 1,
    };
    // The first load shows which threads are the workers.
    await load({ ...job, seconds: 1, server: { pid, address, key } });
    prepare?.(server);
    const window = await load({ ...job, seconds: options.seconds, server: { pid, address, key } });
    return loadSample([window], [200]);
  } finally {
    await server.stop();
  }
}

const scenarios = ['small', 'photo', 'phone'];
await preparePictures(scenarios);
const names = Object.keys(variants).filter((name) => variants[name].there ?? true);
const measured = [];
for (let round = 0; round < options.rounds; round++) {
  for (const scenario of scenarios) {
    const samples = {};
    for (const name of rotated(names, round)) {
      progress(`round ${round + 1} of ${options.rounds}, ${scenario}: ${name}`);
      samples[name] = await sampleOf(variants[name], scenario);
    }
    measured.push({ scenario, samples });
  }
}
progress('');

const ratio = (scenario, name, field) =>
  median(
    measured
      .filter((one) => one.scenario === scenario)
      .map(({ samples }) => samples[name][field] / samples.plain[field]),
  );
const rows = names
  .filter((name) => name !== 'plain')
  .flatMap((name) =>
    scenarios.map((scenario) => ({
      name,
      scenario,
      cpu: ratio(scenario, name, 'cpu_ms'),
      resident: ratio(scenario, name, 'rss_mib'),
    })),
  );
if (options.json) {
  console.log(JSON.stringify({ environment: environment(), rows, measured }));
} else {
  console.log(JSON.stringify(environment()));
  const head = ['÷ plain', 'pictures', 'CPU a request', 'resident memory'];
  const cells = rows.map(({ name, scenario, cpu, resident }) => [
    name,
    scenario,
    number(cpu),
    number(resident),
  ]);
  console.log(columns({ head, rows: cells }));
}
