import type { Face, ImageReport } from '../engine/addon.ts';

/** An embedding of a face or a person, with its cohort score. */
export interface Embedded {
  /** Vector of length 1. */
  embedding: Float32Array;
  /** Mean similarity to the nearest centres of the cohort, times a weight. */
  cohort_score: number;
}

export interface Similarity {
  /** Cosine of the two embeddings, from -1 to 1. */
  similarity: number;
  /** Input of the calibration table. */
  normalised_similarity: number;
}

export function similarityOf(a: Embedded, b: Embedded): Similarity {
  const similarity = cosine(a.embedding, b.embedding);
  return { similarity, normalised_similarity: normalised(similarity, a.cohort_score, b.cohort_score) };
}

/** Returns the cosine minus the mean of both cohort scores. */
export const normalised = (cosine: number, a: number, b: number): number => cosine - (a + b) / 2;

/** Returns the cosine of two unit vectors, from -1 to 1. */
export const cosine = (a: Float32Array, b: Float32Array): number => Math.min(1, Math.max(-1, dot(a, b)));

/** Returns the dot product. Uses four independent sums, which the CPU adds in parallel. */
export function dot(a: Float32Array, b: Float32Array): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (const end = a.length - 3; i < end; i += 4) {
    s0 += a[i]! * b[i]!;
    s1 += a[i + 1]! * b[i + 1]!;
    s2 += a[i + 2]! * b[i + 2]!;
    s3 += a[i + 3]! * b[i + 3]!;
  }
  for (; i < a.length; i++) s0 += a[i]! * b[i]!;
  return s0 + s1 + s2 + s3;
}

/** Returns the mean of unit vectors as a unit vector; zeros if the vectors cancel out. */
export function meanOf(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]!.length);
  for (const vector of vectors) for (let i = 0; i < sum.length; i++) sum[i]! += vector[i]!;
  const length = Math.sqrt(dot(sum, sum));
  return length > 0 ? sum.map((value) => value / length) : sum;
}

export type ImageField = 'image1' | 'image2';

export interface Pair extends Similarity {
  image1_face_index: number;
  image2_face_index: number;
}

/** Indices of the compared faces; -1 for automatic selection. */
export interface FaceChoice {
  image1_face_index: number;
  image2_face_index: number;
  auto_pair_best: boolean;
}

/** The compared pairs of two images; at least one. */
export interface Pairs {
  count: number;
  /** The pair with the highest normalised similarity; the first if several are equal. */
  best: Pair;
  /** Returns all pairs, best first. Takes several times as long as the comparison if the images have 100 faces each. */
  sorted(): Pair[];
}

/** Compares each chosen face of one image with each of the other. Both images have at least one face. */
export function comparePairs(first: ImageReport, second: ImageReport, choice: FaceChoice): Pairs {
  const [faces1, faces2] = [
    chosen(first, choice.image1_face_index, choice.auto_pair_best),
    chosen(second, choice.image2_face_index, choice.auto_pair_best),
  ];
  const count = faces1.length * faces2.length;
  const cosines = new Float64Array(count);
  const pair = (at: number): Pair => {
    const [a, b] = [faces1[Math.floor(at / faces2.length)]!, faces2[at % faces2.length]!];
    const similarity = cosines[at]!;
    return {
      image1_face_index: a.index,
      image2_face_index: b.index,
      similarity,
      normalised_similarity: normalised(similarity, a.cohort_score, b.cohort_score),
    };
  };
  let [best, max, at] = [0, Number.NEGATIVE_INFINITY, 0];
  for (const a of faces1) {
    for (const b of faces2) {
      const { similarity, normalised_similarity } = similarityOf(a, b);
      cosines[at] = similarity;
      if (normalised_similarity > max) [best, max] = [at, normalised_similarity];
      at += 1;
    }
  }
  const sorted = () =>
    Array.from(cosines, (_cosine, i) => pair(i)).sort(
      (a, b) => b.normalised_similarity - a.normalised_similarity,
    );
  return { count, best: pair(best), sorted };
}

/**
 * Returns the faces to compare: the face with this index; for -1, all faces or, without auto_pair_best, the
 * largest.
 */
function chosen({ faces }: ImageReport, index: number, auto_pair_best: boolean): Face[] {
  if (index >= 0) return [faces[index]!];
  return auto_pair_best ? faces : faces.slice(0, 1);
}
