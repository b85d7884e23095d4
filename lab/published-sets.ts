import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseTar } from 'nanotar';
import { cacheFolder, download } from './download.ts';
import type { SetFolder } from './found-faces.ts';

/**
 * Photos of labelled people that `facematch calibrate --set` knows by name and downloads from their
 * publisher.
 */
export const lfw = {
  title: 'Labeled Faces in the Wild',
  /** Description of its people, for which its rates are valid. */
  about: 'mostly white public figures, in press photos of the years around 2003',
  /** A gzipped tarball. URL and SHA-256 are those of scikit-learn's fetcher, sklearn/datasets/_lfw.py. */
  archive: {
    url: 'https://ndownloader.figshare.com/files/5976018',
    bytes: 180_566_744,
    sha256: '055f7d9c632d7370e6fb4afc7468d40f970c34a80d4c6f50ffec63f5a8d536c0',
  },
  /**
   * Path of a used image within it: its first group is the person, the second the file's name. Two images per
   * person are used; the second gives a mated pair. A few people have hundreds.
   */
  image: /^lfw\/([^./\\][^/\\]*)\/(\1_000[12]\.jpg)$/,
};

/**
 * Returns the sets of `lfw`, or of `lfw,FOLDER`: the published one, which is downloaded and unpacked in
 * `cache` if it is missing, and folders of the user's own people. Each has a folder of images for each
 * person. Rejects with an Error with a message for people.
 */
export async function openSets(
  text: string,
  set: typeof lfw = lfw,
  cache: string = cacheFolder(),
): Promise<SetFolder[]> {
  const [name = '', ...folders] = text.split(',');
  if (name !== 'lfw') {
    throw new Error(
      `No published set is named ${name}; there is lfw. Folders of your own are given as NAME=FOLDER.`,
    );
  }
  const file = await download(set.archive, cache);
  const people = join(dirname(file), 'people');
  if (!existsSync(people)) unpack(file, set.image, people);
  const own = folders.map((folder, place) => ({ name: `own${place + 1}-${basename(folder)}`, folder }));
  return [{ name, folder: people, title: set.title, about: set.about }, ...own];
}

/** Unpacks all or nothing: into a temporary folder, which is then moved into place. */
function unpack(file: string, image: RegExp, people: string): void {
  const entries = parseTar(gunzipSync(readFileSync(file)), {
    filter: ({ name, type }) => type === 'file' && image.test(name),
  });
  if (entries.length === 0) throw new Error(`${file} has no images where they are expected.`);
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
