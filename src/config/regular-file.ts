import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

/** The file is a folder, a device or a named pipe. */
export class NotRegular extends Error {
  constructor() {
    super('is not a regular file');
    this.name = 'NotRegular';
  }
}

/**
 * Text of a file and its state, of the same moment. Throws the system's error, or NotRegular: a named pipe would keep its reader waiting, a
 * device has no end.
 */
export function readRegular(file: string): { text: string; stats: Stats } {
  // Without O_NONBLOCK (which Windows lacks) opening a named pipe would wait for a writer.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new NotRegular();
    return { text: readFileSync(descriptor, 'utf8'), stats };
  } finally {
    closeSync(descriptor);
  }
}

/** Some editors write a byte order mark first. */
export const withoutMark = (text: string) => text.replace(/^\ufeff/, '');
