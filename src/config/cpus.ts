import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** How many CPUs this process may use: the CPU affinity, which libuv knows, and the quota of its cgroup, which it does not. */

/** Text of a file, or undefined when it is not there. A parameter, so that tests can stand for other machines. */
type ReadText = (file: string) => string | undefined;

export function cpuLimit(): number {
  const quota = cgroupQuota(readText);
  return Math.max(1, Math.min(availableParallelism(), Math.ceil(quota)));
}

/** CPUs that the cgroup and its ancestors allow; Infinity when there is no quota. */
export function cgroupQuota(read: ReadText): number {
  let quota = Number.POSITIVE_INFINITY;
  for (const line of (read('/proc/self/cgroup') ?? '').split('\n')) {
    // cgroups(7): "hierarchy-ID:controller-list:cgroup-path"; version 2 has ID 0 and an empty list.
    const [, controllers, path] = line.split(':', 3);
    if (controllers === undefined || path === undefined) continue;
    if (controllers === '') {
      for (const folder of ancestors(path)) {
        quota = Math.min(quota, quotaOfVersion2(read(`/sys/fs/cgroup${folder}/cpu.max`)));
      }
    } else if (controllers.split(',').includes('cpu')) {
      for (const folder of ancestors(path)) {
        quota = Math.min(quota, quotaOfVersion1(read, `/sys/fs/cgroup/cpu${folder}`));
      }
    }
  }
  return quota;
}

/** cpu.max holds "QUOTA PERIOD" in microseconds, or "max PERIOD". */
function quotaOfVersion2(text: string | undefined): number {
  const [quota, period] = (text ?? '').trim().split(' ');
  return ratio(quota, period);
}

/** cpu.cfs_quota_us is -1 when there is no quota. */
function quotaOfVersion1(read: ReadText, folder: string): number {
  return ratio(read(`${folder}/cpu.cfs_quota_us`), read(`${folder}/cpu.cfs_period_us`));
}

function ratio(quota: string | undefined, period: string | undefined): number {
  const cpus = Number(quota) / Number(period);
  return Number.isFinite(cpus) && cpus > 0 ? cpus : Number.POSITIVE_INFINITY;
}

/** "/a/b" → "/a/b", "/a", "". Inside a container the path may be the host's, so the root is always included. */
function ancestors(path: string): string[] {
  const names = path.split('/').filter(Boolean);
  return Array.from({ length: names.length + 1 }, (_, cut) =>
    names
      .slice(0, names.length - cut)
      .map((name) => `/${name}`)
      .join(''),
  );
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
