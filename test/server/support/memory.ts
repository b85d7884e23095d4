import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** What another process has in its memory, as a debugger would read it. */

const piece_bytes = 8 * 1024 * 1024;

/** How often any of these texts is in the memory that the process may write. */
export function countInMemory(pid: number, needles: readonly Buffer[]): number {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const piece = Buffer.alloc(piece_bytes);
  let count = 0;
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      const end = Number.parseInt(to, 16);
      for (let at = Number.parseInt(from, 16); at < end; at += piece_bytes) {
        count += countIn(
          piece.subarray(0, read(memory, piece, at, Math.min(piece_bytes, end - at))),
          needles,
        );
      }
    }
  } finally {
    closeSync(memory);
  }
  return count;
}

function read(memory: number, piece: Buffer, at: number, length: number): number {
  try {
    return readSync(memory, piece, 0, length, at);
  } catch {
    // Given back meanwhile.
    return 0;
  }
}

function countIn(bytes: Buffer, needles: readonly Buffer[]): number {
  let count = 0;
  for (const needle of needles) {
    for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) count += 1;
  }
  return count;
}
