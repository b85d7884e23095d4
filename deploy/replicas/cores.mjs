// Which CPU does what: the last one carries the generator, nginx and Redis, the others the replicas.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** `servers`: the CPU of each replica, taken in turns; `others`: that of all the rest. */
export function placement(count) {
  const cpus = allowed();
  const own = cpus.length > 1 ? cpus.slice(0, -1) : cpus;
  return {
    servers: Array.from({ length: count }, (_, index) => own[index % own.length]),
    others: cpus.at(-1),
  };
}

/** In front of a command that is to run on one CPU. */
export function pinned(cpu) {
  return ['taskset', '-c', String(cpu)];
}

/** This process, and what it starts without saying otherwise. */
pinned.self = (cpu) => {
  execFileSync('taskset', ['-a', '-c', '-p', String(cpu), String(process.pid)], { stdio: 'ignore' });
};

/** CPU seconds that a process and its children have used. */
export function cpuSeconds(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  // Behind the name in brackets: utime and stime are the 12th and 13th, in hundredths.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  const own = (Number(fields[11]) + Number(fields[12])) / 100;
  return children.reduce((sum, child) => sum + cpuSeconds(child), own);
}

function allowed() {
  const [, list] = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  if (list === undefined) return Array.from({ length: availableParallelism() }, (_, cpu) => cpu);
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, step) => first + step);
  });
}
