import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { cgroupQuota, cpuLimit } from '../../src/config/cpus.ts';

const none = Number.POSITIVE_INFINITY;

test.each<[name: string, files: Record<string, string>, cpus: number]>([
  ['no cgroups', {}, none],
  [
    'version 2 without a quota',
    { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' },
    none,
  ],
  [
    'version 2 with half a CPU',
    { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '50000 100000\n' },
    0.5,
  ],
  [
    'version 2, the quota of an ancestor',
    {
      '/proc/self/cgroup': '0::/pod/app\n',
      '/sys/fs/cgroup/pod/app/cpu.max': 'max 100000\n',
      '/sys/fs/cgroup/pod/cpu.max': '250000 100000\n',
    },
    2.5,
  ],
  [
    "version 2 in a container that sees the host's path",
    { '/proc/self/cgroup': '0::/../../host/path\n', '/sys/fs/cgroup/cpu.max': '300000 100000\n' },
    3,
  ],
  [
    'version 1 without a quota',
    {
      '/proc/self/cgroup': '3:cpuset:/\n2:cpu,cpuacct:/a\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_period_us': '100000\n',
    },
    none,
  ],
  [
    'version 1 with a quota and version 2 beside it',
    {
      '/proc/self/cgroup': '1:cpu:/a\n0::/\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us': '400000\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_period_us': '100000\n',
    },
    4,
  ],
  ['nonsense', { '/proc/self/cgroup': '0::/\n\ngarbage\n', '/sys/fs/cgroup/cpu.max': 'abc def\n' }, none],
  ['a quota of nothing', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '0 100000\n' }, none],
])('%s', (_name, files, cpus) => {
  expect(cgroupQuota((file) => files[file])).toBe(cpus);
});

test('this machine grants at least one CPU and no more than it has', () => {
  expect(cpuLimit()).toBeGreaterThanOrEqual(1);
  expect(cpuLimit()).toBeLessThanOrEqual(availableParallelism());
});
