// CPUs for server and generator, for measurements in which neither may take the other's.
import { readFileSync } from 'node:fs';

/** Numbers out of a list such as `0-3,8` (cpuset(7)). */
export const cpusIn = (list) =>
  list
    .split(',')
    .filter(Boolean)
    .flatMap((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });

const allowed = () =>
  cpusIn(/^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '');

/**
 * The last CPU for the generator, the others for the server, as taskset takes them; with the number of workers that the
 * server's have room for. Undefined where there is but one CPU.
 */
export function apart(cpus = allowed()) {
  if (cpus.length < 2) return undefined;
  const server = cpus.slice(0, -1);
  return { server: server.join(','), generator: String(cpus.at(-1)), room: server.length };
}
