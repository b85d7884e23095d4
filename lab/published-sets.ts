import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseTar } from 'nanotar';
import { cacheFolder, download } from './download.ts';
import type { SetFolder } from './found-faces.ts';

/** A published set of photos of labelled people, which `facematch calibrate --set` downloads from its publisher. */
export const lfw = {
  title: 'Labeled Faces in the Wild',
  /** Description of the people and photos. The fitted rates apply to similar people and photos. */
  about: 'mostly white public figures, in press photos of the years around 2003',
  /** A gzipped tarball. URL and SHA-256 are from scikit-learn (sklearn/datasets/_lfw.py). */
  archive: {
    url: 'https://ndownloader.figshare.com/files/5976018',
    bytes: 180_566_744,
    sha256: '055f7d9c632d7370e6fb4afc7468d40f970c34a80d4c6f50ffec63f5a8d536c0',
  },
  /** Matches the first two images of each person in the archive. Captures the person and the file name. */
  image: /^lfw\/([^./\\][^/\\]*)\/(\1_000[12]\.jpg)$/,
};

/**
 * Resolves to the sets in `lfw` or `lfw,FOLDER,…`: the published set, and the user's own folders. Downloads and
 * unpacks the published set into `cache` if it is missing. The published set has one folder per person. Rejects with
 * an Error whose message is meant for the user.
 */
export async function openSets(
  text: string,
  set: typeof lfw = lfw,
  cache: string = cacheFolder(),
): Promise<SetFolder[]> {
  const [name = '', ...folders] = text.split(',');
  if (name !== 'lfw') {
    throw new Error(
      `Unknown published set ${name}; the only one is lfw. Give folders of your own as NAME=FOLDER.`,
    );
  }
  const file = await download(set.archive, cache);
  const people = join(dirname(file), 'people');
  if (!existsSync(people)) unpack(file, set.image, people);
  const own = folders.map((folder, place) => ({ name: `own${place + 1}-${basename(folder)}`, folder }));
  return [{ name, folder: people, title: set.title, about: set.about }, ...own];
}

/** Unpacks into a temporary folder, and then moves it into place, so that the result is complete or missing. */
function unpack(file: string, image: RegExp, people: string): void {
  const entries = parseTar(gunzipSync(readFileSync(file)), {
    filter: ({ name, type }) => type === 'file' && image.test(name),
  });
  if (entries.length === 0) throw new Error(`${file} does not contain the expected images.`);
  const made = `${people}.${randomUUID()}`;
  try {
    for (const { name, data } of entries) {
      const [, person, own] = image.exec(name)!;
      mkdirSync(join(made, person!), { recursive: true });
      writeFileSync(join(made, person!, own!), data!);
    }
    renameSync(made, people);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
