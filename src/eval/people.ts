import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LabelledEmbedding } from './cohort.ts';
import type { EmbeddedImage } from './embed-worker.ts';

/** An image in a folder of labelled people. */
interface PersonImage {
  /** Path within the folder. */
  file: string;
  person: string;
  /** The group for centres of the cohort: the set, with the first label if there is one. */
  group: string;
  /** The set's name, or "age 3-9" of each label. */
  labels: string[];
}

/** A face of a labelled person, as the engine embedded it. */
export interface LabelledImage extends LabelledEmbedding {
  /** The groups that it is counted in: the set, or a value such as "age 3-9" of each label. */
  labels: readonly string[];
  /** Made with the pack's own cohort. */
  cohort_score: number;
}

/** A set of labelled people. Strangers are two people of one set. */
export interface PeopleSet {
  name: string;
  images: readonly LabelledImage[];
}

/** Paths of all images below a folder, sorted. Throws an Error when there are none. */
export function imagesBelow(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((file) => /\.(jpe?g|png|webp)$/i.test(file))
    .sort();
  if (files.length === 0) throw new Error(`${folder} has no pictures`);
  return files;
}

/**
 * The labelled people of a set: a folder of images for each person. With a list `people.tsv` in the folder or beside it
 * (tab-separated, a header line, the column `image` first, then labels such as `age`), only the images of the list are used,
 * and an image without a folder is a person of its own. Throws an Error with the file.
 */
export function readPeople(name: string, folder: string): PersonImage[] {
  const list = [join(folder, 'people.tsv'), join(dirname(folder), 'people.tsv')].find(existsSync);
  const files = imagesBelow(folder);
  if (list === undefined) {
    const inFolders = files.filter((file) => file.includes('/'));
    if (inFolders.length === 0) throw new Error(`${folder} has no folders of pictures`);
    return inFolders.map((file) => ({ file, person: personIn(name, file), group: name, labels: [name] }));
  }
  const [header = '', ...lines] = readFileSync(list, 'utf8').split(/\r?\n/);
  const [image, ...columns] = header.split('\t');
  if (image !== 'image' || columns.length === 0) {
    throw new Error(`${list}: expected "image" and at least one label in the first line`);
  }
  const known = new Set(files);
  return lines.flatMap((line, index) => {
    if (line === '') return [];
    const [file = '', ...values] = line.split('\t');
    if (!known.has(file) || values.length !== columns.length || values.includes('')) {
      throw new Error(
        `${list}, line ${index + 2}: expected a picture of the folder and a value for each label`,
      );
    }
    const labels = columns.map((column, i) => `${column} ${values[i]}`);
    return [{ file, person: personIn(name, file), group: `${name} ${labels[0]}`, labels }];
  });
}

/** With the set's name, because two sets may have folders of the same name. */
function personIn(set: string, file: string): string {
  return `${set}/${file.includes('/') ? file.split('/')[0] : file}`;
}

/** The images that have a face. */
export function peopleSet(
  name: string,
  people: readonly PersonImage[],
  embedded: ReadonlyMap<string, EmbeddedImage>,
): PeopleSet {
  const images = people.flatMap(({ file, ...labelled }) => {
    const { embedding, cohort_score = 0 } = embedded.get(file) ?? {};
    return embedding ? [{ ...labelled, embedding, cohort_score }] : [];
  });
  return { name, images };
}

/** A person's fold, 0 to `count` − 1, by a hash of the name (FNV-1a), so that it does not depend on the other people. */
export function foldOf(person: string, count: number): number {
  let hash = 0x811c9dc5;
  for (const char of person) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  // The last bits of this hash are not uniform for short names.
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
