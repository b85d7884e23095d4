// What a process and those that it started have used, as Linux counts it (proc(5)).
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const ticks_per_second = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** The process and all below it. Threads are part of their process. */
export function treeOf(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

/** User and system time out of the text of /proc/PID/stat, in milliseconds. The name may hold blanks and brackets. */
export function cpuOfStat(text, hertz = ticks_per_second) {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / hertz) * 1000;
}

const sum = (pid, measure) => treeOf(pid).reduce((total, one) => total + measure(one), 0);

/** CPU time of the tree so far, in milliseconds. */
export const cpuOf = (pid) => sum(pid, (one) => cpuOfStat(readFileSync(`/proc/${one}/stat`, 'utf8')));

/** The same of its main thread alone, in which a server in Node does all of HTTP. */
export const mainThreadCpuOf = (pid) => cpuOfStat(readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8'));

/** Resident memory of the tree, in MiB: `VmRSS` now, `VmHWM` at its highest. */
export const rssOf = (pid, name = 'VmRSS') =>
  sum(pid, (one) => {
    const status = readFileSync(`/proc/${one}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
  });
