import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';

export interface Picture {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Throws an Error with a message for people; its cause is the file system's own. */
export async function readPicture(file: string): Promise<Picture> {
  try {
    return { name: basename(file), bytes: new Uint8Array(await readFile(file)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`The picture ${file} cannot be read (${code}).`, { cause: error });
  }
}
