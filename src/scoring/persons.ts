import { type Embedded, meanOf, type Similarity, similarityOf } from './similarity.ts';

/** Compares two sides, each with photos of one person, by the mean embedding of each side. */

interface Scorer {
  /** Returns the cohort scores of unit vectors that are concatenated in one array. */
  cohortScores(vectors: Float32Array): ArrayLike<number>;
}

/** Concatenates vectors in one array, the input of the addon. */
export function inOneArray(vectors: readonly Float32Array[]): Float32Array {
  const [{ length }] = vectors as [Float32Array];
  const all = new Float32Array(vectors.length * length);
  for (const [row, vector] of vectors.entries()) all.set(vector, row * length);
  return all;
}

/** The faces of a photo. The first face is compared. */
export type PhotoFaces = readonly Embedded[];

export interface ComparedPersons extends Similarity {
  /** One entry for each side and photo. */
  sides: readonly (readonly PhotoAgreement[])[];
}

export interface PhotoAgreement {
  /**
   * Normalised similarity of the photo's first face with the mean of the other photos on its side; undefined if there
   * are no other photos.
   */
  agreement: number | undefined;
  /**
   * Index of the face with the highest similarity to the other photos on its side or, if there are none, to the
   * other side.
   */
  best_face: number;
}

/** The photos of each person, at least one. */
export type PersonsInput = readonly [readonly PhotoFaces[], readonly PhotoFaces[]];

/** Compares two persons. The returned normalised similarity is not yet shifted for the numbers of photos. */
export function comparePersons(sides: PersonsInput, scorer: Scorer): ComparedPersons {
  const embeddings = sides.map((photos) => photos.map(([first]) => first!.embedding));
  const means = scored(embeddings.map(meansOf), scorer);
  const wholes = means.map(([whole]) => whole!);
  return {
    ...similarityOf(wholes[0]!, wholes[1]!),
    sides: sides.map((photos, side) =>
      photos.map((faces, photo) => {
        const others = means[side]![1 + photo];
        const fits = faces.map(
          (face) => similarityOf(face, others ?? wholes[1 - side]!).normalised_similarity,
        );
        return { agreement: others && fits[0], best_face: fits.indexOf(Math.max(...fits)) };
      }),
    ),
  };
}

/** A person, represented by the mean of the embeddings of their photos. */
export interface Person extends Embedded {
  /** Normalised similarity of each photo with the mean of the others; empty for a single photo. */
  agreements: readonly number[];
}

/** Returns the mean of each person. `people`: the embeddings of each person, at least one. */
export function personsOf(people: readonly (readonly Float32Array[])[], scorer: Scorer): Person[] {
  const groups = people.map((photos) => (photos.length === 1 ? photos : [...meansOf(photos), ...photos]));
  return scored(groups, scorer).map(([whole, ...rest]) => {
    const photos = rest.splice(rest.length / 2);
    return {
      ...whole!,
      agreements: photos.map((photo, i) => similarityOf(photo, rest[i]!).normalised_similarity),
    };
  });
}

/** Returns the mean of all photos and, if there are several, for each photo the mean of the others. */
function meansOf(photos: readonly Float32Array[]): Float32Array[] {
  if (photos.length === 1) return [...photos];
  const others = photos.map((_photo, left) => photos.filter((_other, at) => at !== left));
  return [photos, ...others].map((some) => (some.length === 1 ? some[0]! : meanOf(some)));
}

/**
 * Adds the cohort scores to all vectors, in one call of `cohortScores`. A vector that occurs twice is passed once: if
 * a person has two photos, the mean of all photos except one is the other photo itself.
 */
function scored(groups: readonly (readonly Float32Array[])[], { cohortScores }: Scorer): Embedded[][] {
  const vectors = [...new Set(groups.flat())];
  const scores = cohortScores(inOneArray(vectors));
  const scoreOf = new Map(vectors.map((vector, row) => [vector, scores[row]!]));
  return groups.map((group) =>
    group.map((embedding) => ({ embedding, cohort_score: scoreOf.get(embedding)! })),
  );
}
