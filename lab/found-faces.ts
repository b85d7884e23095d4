import { type AccuracyMode, accuracyModes, withBar } from 'facematch/for-lab';
import { type EmbedImagesOptions, embedImages } from './embed-images.ts';
import type { EmbeddedImage } from './embed-worker.ts';
import type { Example } from './linear-score.ts';
import { type Grouping, imagesBelow, type PeopleSet, peopleSet, readPeople } from './people.ts';

/** The faces that a calibration is made of, as the engine finds and embeds them in both modes. */

export interface SetFolder {
  name: string;
  folder: string;
  /** A published set has a title, and says of whom and what it is. */
  title?: string;
  about?: string;
}

interface FacesToFind {
  /** People for the table, the cohort and the human check. */
  table: readonly SetFolder[];
  /** People for the cohort and the human check only. */
  cohortOnly: readonly SetFolder[];
  /** People whose nose and mouth are covered. */
  covered: readonly SetFolder[];
  /** Folders of images without people. */
  withoutPeople: readonly string[];
  groups: readonly Grouping[] | undefined;
}

/** The sets of one mode. */
interface FoundSets {
  mode: AccuracyMode;
  table: PeopleSet[];
  cohortOnly: PeopleSet[];
  covered: PeopleSet[];
}

export interface FoundFaces {
  modes: FoundSets[];
  /** False faces of both modes, and which of them the service would accept by their score. */
  others: Example[];
  accepted: ReadonlySet<Example>;
}

/** The human check is also fitted to false faces with a lower score than the service accepts. */
const leastOtherScore = 0.3;
/** The set name of false faces. Names given by users have no spaces. */
export const withoutPeopleSet = 'without people';

/** Shows a bar for each set. `engine` has the pack, which is loaded. */
export async function findFaces(
  { groups, ...wanted }: FacesToFind,
  engine: Pick<EmbedImagesOptions, 'packDirectory' | 'minDetScore' | 'workers'>,
): Promise<FoundFaces> {
  const embed = (
    title: string,
    folder: string,
    files: string[],
    how: Pick<EmbedImagesOptions, 'mode' | 'minDetScore'>,
  ) =>
    withBar(`${title} ${how.mode}`, files.length, (onImage) =>
      embedImages(files, { ...engine, ...how, folder, onImage }),
    );
  const read = async (list: readonly SetFolder[], mode: AccuracyMode) => {
    const sets: PeopleSet[] = [];
    for (const { name, folder } of list) {
      const labelled = readPeople(name, folder, groups);
      const files = labelled.map(({ file }) => file);
      const found = await embed(name, folder, files, { mode, minDetScore: engine.minDetScore });
      sets.push(peopleSet(name, labelled, found));
    }
    return sets;
  };
  const modes: FoundSets[] = [];
  const others: Example[] = [];
  const accepted = new Set<Example>();
  for (const mode of accuracyModes) {
    modes.push({
      mode,
      table: await read(wanted.table, mode),
      cohortOnly: await read(wanted.cohortOnly, mode),
      covered: await read(wanted.covered, mode),
    });
    for (const folder of wanted.withoutPeople) {
      const how = { mode, minDetScore: leastOtherScore };
      const found = await embed(withoutPeopleSet, folder, imagesBelow(folder), how);
      for (const { example, score } of falseFaces(folder, found)) {
        others.push(example);
        if (score >= engine.minDetScore) accepted.add(example);
      }
    }
  }
  return { modes, others, accepted };
}

function* falseFaces(folder: string, found: ReadonlyMap<string, EmbeddedImage>) {
  for (const [name, { faces }] of found) {
    for (const { embedding, detection_score: score } of faces) {
      yield { example: { source: `${folder}/${name}`, set: withoutPeopleSet, embedding }, score };
    }
  }
}

export function examplesOf({ name, images }: PeopleSet, set = name): Example[] {
  return images.map(({ person, embedding }) => ({ source: person, set, embedding }));
}
