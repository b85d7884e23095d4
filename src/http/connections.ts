import { existsSync, readdirSync, readFileSync } from 'node:fs';

export class Connections {
  open = 0;
  /** Closed at once, because there were as many as there may be. */
  refused = 0;
  /** Ended before a request of theirs was read: their head was refused or dropped, or none came. */
  silent = 0;
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }
}

/** Descriptors for files that are followed, logs, Redis and what libraries open. */
const spareDescriptors = 64;
/** Descriptors of a worker's loop and its messages. */
const descriptorsPerWorker = 8;

/**
 * How many connections there is room for below the limit of open files; Infinity where that is not known. A process without a descriptor
 * left can neither accept nor refuse a connection, and µWS asks for it again and again.
 */
export function descriptorsThatFit(workers: number): number {
  // Only Linux has it. Node raises the soft limit to the hard one when it starts.
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : '';
  const [, limit] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  const used = readdirSync('/proc/self/fd').length;
  return Number(limit) - used - spareDescriptors - descriptorsPerWorker * workers;
}
