import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

/** A file that cannot be read. The message ends a sentence that begins with the file. */
export class Unreadable extends Error {
  /** `special`: a folder, a device or a named pipe. `denied`: whatever else the system says. */
  readonly kind: 'missing' | 'special' | 'denied';

  constructor(kind: Unreadable['kind'], message: string) {
    super(message);
    this.name = 'Unreadable';
    this.kind = kind;
  }
}

/**
 * Text of a file and its state, of the same moment. Throws Unreadable, also for what is no regular file: a named pipe would keep its
 * reader waiting, a device has no end.
 */
export function readRegular(file: string): { text: string; stats: Stats } {
  try {
    // Without O_NONBLOCK (which Windows lacks) opening a named pipe would wait for a writer.
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) throw new Unreadable('special', 'is not a regular file');
      return { text: readFileSync(descriptor, 'utf8'), stats };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Unreadable('missing', 'does not exist');
    throw new Unreadable('denied', `cannot be read (${code})`);
  }
}

/** Some editors write a byte order mark first. */
export const withoutMark = (text: string) => text.replace(/^\ufeff/, '');
