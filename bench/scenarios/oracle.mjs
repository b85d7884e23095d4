// Pictures for the oracle: as different as there are.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sharedData } from '../lib/paths.mjs';
import { pairsOf } from './pictures.mjs';

const jpegsBelow = (folder) =>
  folder === undefined
    ? []
    : readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.jpe?g$/i.test(file))
        .sort()
        .map((file) => join(folder, file));

/** `count` of a list, from all over it. */
const spread = (files, count) =>
  files.length <= count
    ? files
    : Array.from({ length: count }, (_, i) => files[Math.floor((i * files.length) / count)]);

/** Those of the scenarios, which are there for everybody. */
async function ofScenarios() {
  const kinds = await Promise.all(['small', 'card', 'photo'].map(pairsOf));
  return kinds.flatMap(({ pairs }) => pairs.flatMap(({ files }) => files));
}

/** Paths of so many pictures with faces, or of as many as there are: large ones a third, the rest small. */
export async function portraits(count) {
  const large = spread(jpegsBelow(sharedData('london')), Math.ceil(count / 3));
  const small = spread(jpegsBelow(sharedData('lfw-dev')), count - large.length);
  return large.length + small.length > 0 ? [...large, ...small] : spread(await ofScenarios(), count);
}
