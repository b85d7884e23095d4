import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/** Limits that the system sets for this process. */

/**
 * Returns the text of a file, or undefined if it does not exist. A parameter, so that tests can describe
 * other machines.
 */
type ReadText = (file: string) => string | undefined;

/**
 * Returns the number of available CPUs: the affinity, which libuv knows, limited by the cgroup's quota, which
 * libuv does not know.
 */
export function cpuLimit(): number {
  const quota = cgroupQuota(readText);
  return Math.max(1, Math.min(availableParallelism(), Math.ceil(quota)));
}

/** Returns the CPU quota of the cgroup and its ancestors; Infinity if there is none. */
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

/** Instructions that raise each limit. */
export const moreFiles = 'raise it: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of a container';
const moreThreads =
  'raise it: ulimit -u, TasksMax of systemd, --pids-limit of a container; a server has 12 threads and its workers';

/** System errors by code, because their messages do not say how to fix them. */
const cures: Readonly<Record<string, string>> = {
  EMFILE: `Too few files may be open; ${moreFiles}.`,
  ERR_WORKER_INIT_FAILED: `No further thread may be started; ${moreThreads}.`,
};

/** Returns advice for an error's message; undefined if no limit caused it. */
export function cureOf(error: unknown): string | undefined {
  return cures[(error as NodeJS.ErrnoException).code ?? ''];
}
