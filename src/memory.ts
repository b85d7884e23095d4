import { totalmem } from 'node:os';

/** Bytes of memory that the process may use: its control group's limit, or else what the machine has. */
export function memoryLimit(): number {
  // 0 where it is not known, nearly 2^64 where there is none.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
