import { type AccuracyMode, accuracyModes } from 'facematch/for-lab';
import { type EmbedImagesOptions, embedImages } from './embed-images.ts';
import type { Example } from './linear-score.ts';
import { type Grouping, imagesBelow, type PeopleSet, peopleSet, readPeople } from './people.ts';

/** Finds and embeds the faces for a calibration in both modes. */

export interface SetFolder {
  name: string;
  folder: string;
  /** Title of a published set. */
  title?: string;
  /** Description of the people and photos of a published set. */
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

interface FoundSets {
  mode: AccuracyMode;
  table: PeopleSet[];
  cohortOnly: PeopleSet[];
  covered: PeopleSet[];
}

export interface FoundFaces {
  modes: FoundSets[];
  /** Faces detected in images without people, in both modes. */
  others: Example[];
}

/**
 * Minimum detection score of the false faces for the fit of the human check. It is lower than the service's minimum.
 * Faces below the service's minimum do not count in the cross-validation.
 */
const minFalseFaceScore = 0.3;

/** The pack at `engine.packDirectory` must be loaded. */
export async function findFaces(
  { groups, ...wanted }: FacesToFind,
  engine: Pick<EmbedImagesOptions, 'packDirectory' | 'minDetScore' | 'workers'>,
): Promise<FoundFaces> {
  const read = async (list: readonly SetFolder[], mode: AccuracyMode) => {
    const sets: PeopleSet[] = [];
    for (const { name, folder } of list) {
      const labelled = readPeople(name, folder, groups);
      const files = labelled.map(({ file }) => file);
      const found = await embedImages(`${name} ${mode}`, files, { ...engine, mode, folder });
      sets.push(peopleSet(name, labelled, found));
    }
    return sets;
  };
  const modes: FoundSets[] = [];
  const others: Example[] = [];
  for (const mode of accuracyModes) {
    modes.push({
      mode,
      table: await read(wanted.table, mode),
      cohortOnly: await read(wanted.cohortOnly, mode),
      covered: await read(wanted.covered, mode),
    });
    for (const folder of wanted.withoutPeople) {
      const how = { ...engine, mode, folder, minDetScore: minFalseFaceScore };
      const found = await embedImages(`without people ${mode}`, imagesBelow(folder), how);
      for (const [name, { faces }] of found) {
        for (const { embedding, detection_score } of faces) {
          const isCounted = detection_score >= engine.minDetScore;
          others.push({ source: `${folder}/${name}`, set: 'without people', embedding, isCounted });
        }
      }
    }
  }
  return { modes, others };
}

export function examplesOf({ name, images }: PeopleSet, set = name): Example[] {
  return images.map(({ person, embedding }) => ({ source: person, set, embedding, isCounted: true }));
}
