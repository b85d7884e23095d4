import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/** File access that also supports file names that are not UTF-8, which Node cannot represent as strings. */

/** Decodes a file name as UTF-8, or as Latin-1 if it is not valid UTF-8, so that different names stay different. */
const nameText = (name: Buffer): string => name.toString(isUtf8(name) ? 'utf8' : 'latin1');

/**
 * Returns the paths of all files below a folder, relative to it, with slashes. Throws an Error whose message is
 * meant for the user.
 */
export function namesBelow(folder: string): string[] {
  try {
    return [...walk(Buffer.from(openable(folder)), '')];
  } catch (error) {
    throw new Error(`The folder ${folder} cannot be read (${codeOf(error)}).`, { cause: error });
  }
}

/** Returns the code of a file system error, or the message of any other error. */
export function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

function* walk(folder: Buffer, prefix: string): Generator<string> {
  for (const name of readdirSync(folder, { encoding: 'buffer' })) {
    const [path, text] = [join(folder, name), prefix + nameText(name)];
    if (isFolder(path)) yield* walk(path, `${text}/`);
    else yield text;
  }
}

/** Returns true for folders and links to folders, and false for a broken link. */
function isFolder(path: Buffer): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Returns the path of a file as the file system stores it. If no file has this name, searches for a file whose name
 * is not UTF-8, but decodes to this name: as Latin-1, or with replacement characters as in process.argv. Returns
 * `path` if no file matches. Throws an Error whose message is meant for the user if several match.
 */
export function openable(path: string): string | Buffer {
  // An ASCII name has the same bytes in every encoding.
  return /^[\0-\x7f]*$/.test(path) ? path : (find(path) ?? path);
}

function find(path: string): Buffer | undefined {
  if (existsSync(path)) return Buffer.from(path);
  const [folder, name] = [dirname(path), basename(path)];
  const parent = folder === path ? undefined : find(folder);
  if (parent === undefined || !isFolder(parent)) return undefined;
  const alike = readdirSync(parent, { encoding: 'buffer' }).filter(
    (entry) => !isUtf8(entry) && (entry.toString() === name || entry.toString('latin1') === name),
  );
  if (alike.length > 1) {
    throw new Error(
      `${alike.length} files have names that are not UTF-8 and decode to ${path}. Rename them.`,
    );
  }
  return alike[0] && join(parent, alike[0]);
}

const join = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, Buffer.from('/'), name]);

export interface ImageFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Argument that means standard input. A file of this name is `./-`. */
const standardInput = '-';
/** Maximum number of bytes read from standard input, because a pipe may never end. */
const maxPiped_bytes = 64 * 1024 * 1024;
let piped: Promise<Uint8Array<ArrayBuffer>> | undefined;

/**
 * Reads standard input to the end. Throws an Error whose message is meant for the user if it is too large, empty or a
 * terminal.
 */
async function readStandardInput(): Promise<Uint8Array<ArrayBuffer>> {
  if (process.stdin.isTTY)
    throw new Error(
      '- reads a photo from standard input, but that is a terminal. Redirect a file: facematch detect - < photo.jpg',
    );
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxPiped_bytes)
      throw new Error(`The image on standard input has more than ${maxPiped_bytes} bytes.`);
  }
  if (size === 0) throw new Error('The image on standard input is empty.');
  return new Uint8Array(Buffer.concat(chunks));
}

/**
 * Reads a photo. `-` is standard input, which is read once, even if it is named several times. Throws an
 * Error whose message is meant for the user; for a file, its cause is the file system's error.
 */
export async function readImage(file: string): Promise<ImageFile> {
  if (file === standardInput) {
    piped ??= readStandardInput();
    return { name: standardInput, bytes: await piped };
  }
  try {
    return { name: basename(file), bytes: new Uint8Array(await readFile(openable(file))) };
  } catch (error) {
    throw new Error(`The image ${file} cannot be read (${codeOf(error)}).`, { cause: error });
  }
}
