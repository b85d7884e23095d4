import { basename } from 'node:path';
import { progressBar } from 'facematch/for-lab';
import type { SetFolder } from '../found-faces.ts';
import { fetchSet, publishedSets } from '../published-sets.ts';

/**
 * The sets of `lfw`, or of `lfw,FOLDER`: the published one, which is downloaded where it is not here, and folders of the user's own
 * people. Rejects with an Error with a message for people.
 */
export async function openSets(
  text: string,
  known: typeof publishedSets = publishedSets,
  cache?: string,
): Promise<SetFolder[]> {
  const [name = '', ...folders] = text.split(',');
  const set = known[name];
  if (set === undefined) {
    throw new Error(
      `No published set is named ${name}; there are ${Object.keys(known).join(', ')}. Folders of your own are given as NAME=FOLDER.`,
    );
  }
  const bar = await progressBar('Bytes', set.archive.bytes);
  const folder = await fetchSet(set, bar.reach, cache).finally(bar.stop);
  const own = folders.map((one, place) => ({ name: `own${place + 1}-${basename(one)}`, folder: one }));
  return [{ name, folder, title: set.title, about: set.about }, ...own];
}
