import { cosine, type Embedded, meanOf, normalised } from './similarity.ts';

/** Photos of one person against photos of one person: each side is the mean of its embeddings. */

/** Unit vectors, with the cohort scores that go with them. */
interface Scored {
  vectors: readonly Float32Array[];
  scores: ArrayLike<number>;
}

type CohortScores = (vectors: readonly Float32Array[]) => ArrayLike<number>;

/** Each photo's faces; the first counts. */
export type PhotoFaces = readonly Embedded[];

export interface ComparedPersons {
  /** Cosine of the means, -1..1. */
  similarity: number;
  /** The input of the calibration table, before the shift for the numbers of photos. */
  normalised_similarity: number;
  /** For each side and photo. */
  sides: readonly (readonly PhotoAgreement[])[];
}

export interface PhotoAgreement {
  /** Normalised similarity of the photo's first face with the mean of the others of its side; undefined where it is alone. */
  agreement: number | undefined;
  /** The face that fits best: the others of its side, or the other side where the photo is alone. */
  best_face: number;
}

/** `sides`: the photos of each person, one at least. All means go to `cohortScores` at once. */
export function comparePersons(
  sides: readonly [readonly PhotoFaces[], readonly PhotoFaces[]],
  cohortScores: CohortScores,
): ComparedPersons {
  const wholes = sides.map((photos) => meanOf(photos.map(embeddingOf)));
  const others = sides.map((photos) =>
    photos.length === 1
      ? []
      : photos.map((_photo, left) => meanOf(photos.filter((_one, at) => at !== left).map(embeddingOf))),
  );
  const vectors = [...wholes, ...others.flat()];
  const scores = cohortScores(vectors);
  const all: Scored = { vectors, scores };
  const similarity = cosine(wholes[0]!, wholes[1]!);
  let next = wholes.length;
  return {
    similarity,
    normalised_similarity: normalised(similarity, scores[0]!, scores[1]!),
    sides: sides.map((photos, side) =>
      photos.map((faces) => {
        const isAlone = photos.length === 1;
        const fits = normalisedWith(all, isAlone ? 1 - side : next++);
        const found = faces.map(fits);
        return { agreement: isAlone ? undefined : found[0]!, best_face: found.indexOf(Math.max(...found)) };
      }),
    ),
  };
}

const embeddingOf = (faces: PhotoFaces) => faces[0]!.embedding;

/** Normalised similarity of a face with one of the vectors. */
const normalisedWith =
  ({ vectors, scores }: Scored, index: number) =>
  ({ embedding, cohort_score }: Embedded) =>
    normalised(cosine(embedding, vectors[index]!), cohort_score, scores[index]!);
