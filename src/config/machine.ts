import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/** Limits that the operating system sets for this process. */

/** Returns the text of a file, or undefined if it cannot be read. Tests pass their own function. */
type ReadText = (file: string) => string | undefined;

/** Returns the number of CPUs in the process's affinity, limited by the cgroup's quota, which is rounded up. */
export function cpuLimit(): number {
  const quota = cgroupQuota(readText);
  return Math.max(1, Math.min(availableParallelism(), Math.ceil(quota)));
}

/** Returns the lowest quota of the cgroup and its ancestors, in CPUs; Infinity if there is none. */
export function cgroupQuota(read: ReadText): number {
  let quota = Number.POSITIVE_INFINITY;
  for (const line of (read('/proc/self/cgroup') ?? '').split('\n')) {
    // cgroups(7): "hierarchy-ID:controller-list:cgroup-path"; version 2 has ID 0 and an empty list.
    const [, controllers, path] = line.split(':', 3);
    if (!path?.startsWith('/')) continue;
    const isVersion2 = controllers === '';
    if (!isVersion2 && !controllers!.split(',').includes('cpu')) continue;
    // Inside a container the path may be the host's, so the root is always included.
    for (let folder = path; ; folder = dirname(folder)) {
      // Microseconds; "max" or -1 if there is no quota.
      const [used, period] = isVersion2
        ? (read(join(`/sys/fs/cgroup${folder}`, 'cpu.max')) ?? '').split(' ')
        : ['quota', 'period'].map((one) => read(join(`/sys/fs/cgroup/cpu${folder}`, `cpu.cfs_${one}_us`)));
      const cpus = Number(used) / Number(period);
      if (cpus > 0) quota = Math.min(quota, cpus);
      if (folder === '/') break;
    }
  }
  return quota;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Advice on how to raise each limit. */
export const moreFiles = 'raise it: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of a container';
const moreThreads =
  'raise it: ulimit -u, TasksMax of systemd, --pids-limit of a container; a server needs 12 threads plus its workers';

/** Advice by error code, for errors whose messages do not say how to fix them. */
const limitFixes: Readonly<Record<string, string>> = {
  EMFILE: `The limit of open files is too low; ${moreFiles}.`,
  ERR_WORKER_INIT_FAILED: `The limit of threads is too low; ${moreThreads}.`,
};

/** Returns advice for an error that a limit caused; undefined for any other error. */
export function limitFix(error: unknown): string | undefined {
  return limitFixes[(error as NodeJS.ErrnoException).code ?? ''];
}
