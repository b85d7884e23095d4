import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { codeOf, openable } from './file-names.ts';

export interface ImageFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Throws an Error with a message for people; its cause is the file system's error. */
export async function readImage(file: string): Promise<ImageFile> {
  try {
    return { name: basename(file), bytes: new Uint8Array(await readFile(openable(file))) };
  } catch (error) {
    throw new Error(`The image ${file} cannot be read (${codeOf(error)}).`, { cause: error });
  }
}

/**
 * The path of each image's drawing. With several images, or if `out` is a folder, they go into that folder, which is made if
 * missing; else `out` is the file. Throws an Error with a message for people when that is not possible, or when a drawing
 * would overwrite one of the images.
 */
export function drawingFiles(images: readonly string[], out: string): string[] {
  const asFolder = images.length > 1 || isFolder(out);
  if (asFolder) {
    try {
      mkdirSync(out, { recursive: true });
    } catch (error) {
      throw new Error(`--draw: the folder ${out} cannot be made (${codeOf(error)})`);
    }
  } else if (!/\.svg$/i.test(out)) throw new Error(`--draw writes SVG: name it .svg, not ${basename(out)}`);
  else if (!isFolder(dirname(out))) throw new Error(`--draw: there is no folder ${dirname(out)}`);
  const taken = new Set<string>();
  const drawings = images.map((image) => (asFolder ? join(out, freeName(image, taken)) : out));
  const given = new Set(images.map(identity));
  const lost = drawings.find((drawing) => given.has(identity(drawing)));
  if (lost !== undefined) throw new Error(`--draw would overwrite the image ${lost}`);
  return drawings;
}

/** The image's name with .svg; with a number when images of different folders have the same name. */
function freeName(image: string, taken: Set<string>): string {
  const stem = basename(image, extname(image));
  let name = `${stem}.svg`;
  for (let number = 2; taken.has(name); number++) name = `${stem}-${number}.svg`;
  taken.add(name);
  return name;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The real path of a file, so that links to it compare equal. */
function identity(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
