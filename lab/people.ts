import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { namesBelow, openable } from 'facematch/for-lab';
import type { LabelledEmbedding } from './cohort.ts';
import type { EmbeddedImage } from './embed-worker.ts';
import { pathOf, readTable, type Table } from './table.ts';

const listName = 'people.tsv';

/** Columns of `people.tsv` whose values define a group: one column, or several crossed columns. */
export type Grouping = readonly string[];

/** Parses groupings such as `origin*sex,age`. Throws an Error whose message is meant for the user. */
export function parseGroupings(text: string): Grouping[] {
  const groupings = text.split(',').map((one) => one.split('*').map((column) => column.trim()));
  const isValid = (columns: Grouping) => !columns.includes('') && new Set(columns).size === columns.length;
  if (!groupings.every(isValid)) {
    throw new Error(
      'Expected columns of people.tsv, crossed with * and separated by commas, such as origin*sex,age.',
    );
  }
  return groupings;
}

/** Formats a grouping for tables, such as "origin × sex". */
export const groupingText = (grouping: Grouping): string => grouping.join(' × ');

export interface PersonImage {
  /** Path within the folder. */
  file: string;
  person: string;
  set: string;
  /** Groups of the image, such as "age 3-9" or "origin Indian × sex Female"; the name of the set without labels. */
  labels: string[];
}

/** The embedded face of a labelled person. */
export interface LabelledImage extends LabelledEmbedding {
  file?: string;
  labels: readonly string[];
  /** Computed with the pack's own cohort. */
  cohort_score: number;
}

/** A set of labelled people. Non-mated pairs consist of two people of one set. */
export interface PeopleSet {
  name: string;
  images: readonly LabelledImage[];
}

/** A set with all of its readable images. */
export interface FoundPeople extends PeopleSet {
  /** Images with a face. */
  images: readonly (LabelledImage & { file: string })[];
  allImages: readonly { person: string; labels: readonly string[]; hasFace: boolean }[];
}

/** Groups images by person, in the order of the images. */
export function byPerson<Image extends { person: string }>(images: readonly Image[]): Image[][] {
  const own = new Map<string, Image[]>();
  for (const image of images) own.set(image.person, [...(own.get(image.person) ?? []), image]);
  return [...own.values()];
}

/** Returns the sorted paths of all JPEG, PNG and WebP files below a folder. Throws an Error if there are none. */
export function imagesBelow(folder: string): string[] {
  const files = namesBelow(folder)
    .filter((file) => /\.(jpe?g|png|webp)$/i.test(file))
    .sort();
  if (files.length === 0) throw new Error(`${folder} has no images`);
  return files;
}

/**
 * Reads the labelled people of a set.
 *
 * Without a list, each subfolder contains the images of one person; images outside subfolders are skipped. Without
 * subfolders, each image shows a different person.
 *
 * A list `people.tsv` in the folder or next to it restricts the set to the listed images. It is tab-separated, with a
 * header line and the columns `image`, optionally `person`, and labels such as `age`. An image with an empty `person`
 * is a separate person. Without the column `person`, the subfolders of the innermost common folder are people, and an
 * image directly in that folder is a separate person. Paths are relative to the list or to the folder. Listed images
 * outside the folder are skipped.
 *
 * Omits `groupings` with a column that the list does not have. Without `groupings`, each label is a grouping. Throws
 * an Error that names the list or folder, also for a missing image unless `missing` is 'kept'.
 */
export function readPeople(
  name: string,
  folder: string,
  groupings?: readonly Grouping[],
  missing: 'rejected' | 'kept' = 'rejected',
): PersonImage[] {
  const files = imagesBelow(folder);
  const list = readList(folder);
  const plain = { set: name, labels: [name] };
  if (list === undefined) {
    const inFolders = files.filter((file) => file.includes('/'));
    const used = inFolders.length > 0 ? inFolders : files;
    return used.map((file) => ({ file, person: personIn(name, file), ...plain }));
  }
  const { columns, rows } = list;
  const used = groupingsIn(list, groupings);
  const fileOf = finder(folder, list.file, files, missing);
  const listed = rows.flatMap(({ cells, line }) => {
    const cellOf = (column: string) => cells[columns.indexOf(column)]!;
    const file = fileOf(pathOf(cellOf('image')), line);
    return file === undefined ? [] : [{ file, cellOf }];
  });
  const existing = new Set(files);
  if (listed.every(({ file }) => !existing.has(file))) {
    throw new Error(`${list.file} lists no image of ${folder}`);
  }
  const common = commonFolder(listed.map(({ file }) => file));
  return listed.map(({ file, cellOf }) => {
    const person = columns.includes('person')
      ? `${name}/${cellOf('person') || file}`
      : personIn(name, file.slice(common.length));
    const labels = used.map((grouping) =>
      groupingText(grouping.map((column) => `${column} ${cellOf(column)}`)),
    );
    return { file, person, ...plain, ...(labels.length > 0 && { labels }) };
  });
}

/** Returns the groupings that apply to the list of a folder, in the order of `labels`; empty without a list. */
export function groupingsOf(folder: string, groupings?: readonly Grouping[]): readonly Grouping[] {
  const list = readList(folder);
  return list === undefined ? [] : groupingsIn(list, groupings);
}

function groupingsIn({ columns }: Table, groupings?: readonly Grouping[]): readonly Grouping[] {
  const labels = labelsOf(columns);
  if (groupings === undefined) return labels.map((label) => [label]);
  return groupings.filter((grouping) => grouping.every((column) => labels.includes(column)));
}

/** Throws an Error if no list of these folders has all columns of a grouping. */
export function requireColumns(groupings: readonly Grouping[], folders: readonly string[]): void {
  const lists = folders.map((folder) => labelsOf(readList(folder)?.columns ?? []));
  for (const grouping of groupings) {
    if (lists.some((labels) => grouping.every((column) => labels.includes(column)))) continue;
    const available = [...new Set(lists.flat())];
    throw new Error(
      `No people.tsv has the labels ${groupingText(grouping)}. ` +
        (available.length > 0 ? `Available labels: ${available.join(', ')}.` : 'There are no labels.'),
    );
  }
}

function readList(folder: string): (Table & { file: string }) | undefined {
  const file = [join(folder, listName), join(dirname(resolve(folder)), listName)].find((one) =>
    existsSync(openable(one)),
  );
  if (file === undefined) return undefined;
  const { columns, rows } = readTable(file);
  if (!columns.includes('image') || columns.length < 2 || new Set(columns).size < columns.length) {
    throw new Error(
      `${file}: expected tab-separated column names in the first line: image, and person or at least one label`,
    );
  }
  for (const { cells, line } of rows) {
    const isWhole = cells.every((cell, i) => cell !== '' || columns[i] === 'person');
    if (cells.length === columns.length && isWhole) continue;
    throw new Error(`${file}, line ${line}: expected a value in each column; only person may be empty`);
  }
  return { file, columns, rows };
}

function labelsOf(columns: readonly string[]): string[] {
  return columns.filter((column) => column !== 'image' && column !== 'person');
}

/**
 * Returns a function that finds a listed image. It returns the path within the folder, or undefined for an image
 * outside the folder. It throws an Error that names the line of a missing or repeated image.
 */
function finder(folder: string, list: string, files: readonly string[], missing: 'rejected' | 'kept') {
  const known = new Set(files);
  const left = new Set(files);
  return (listed: string, line: number): string | undefined => {
    const fromList = relative(folder, join(dirname(list), listed));
    const isOutside = fromList.startsWith('../');
    const file = [fromList, listed].find((one) => known.has(one));
    if (file !== undefined) {
      if (left.delete(file)) return file;
      throw new Error(`${list}, line ${line}: ${listed} is listed twice`);
    }
    if (isOutside && existsSync(openable(join(dirname(list), listed)))) return undefined;
    if (missing === 'kept') return isOutside ? listed : fromList;
    throw new Error(`${list}, line ${line}: expected an image, not ${listed}`);
  };
}

/** Returns the innermost folder that contains all files, with a slash at its end; empty if there is none. */
function commonFolder(files: readonly string[]): string {
  let folder = files[0]!;
  do folder = folder.slice(0, folder.slice(0, -1).lastIndexOf('/') + 1);
  while (!files.every((file) => file.startsWith(folder)));
  return folder;
}

/** Returns the person of an image. The name includes the set, because two sets may have folders of the same name. */
function personIn(set: string, file: string): string {
  return `${set}/${file.includes('/') ? file.split('/')[0] : file}`;
}

export function peopleSet(
  name: string,
  people: readonly PersonImage[],
  embedded: ReadonlyMap<string, EmbeddedImage>,
): FoundPeople {
  const read = people.flatMap((labelled) => {
    const { embedding, cohort_score, failure } = embedded.get(labelled.file)!;
    return failure ? [] : [{ ...labelled, embedding, cohort_score }];
  });
  return {
    name,
    images: read.flatMap(({ embedding, ...one }) => (embedding ? [{ ...one, embedding }] : [])),
    allImages: read.map(({ person, labels, embedding }) => ({ person, labels, hasFace: !!embedding })),
  };
}

/** Returns a person's fold, 0 to `count` − 1, from a hash of the name (FNV-1a), independently of other people. */
export function foldOf(person: string, count: number): number {
  let hash = 0x811c9dc5;
  for (const char of person) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  // Mixes in the high bits, because the low bits of this hash are not uniform for short names.
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
