import { dot } from 'facematch/for-lab';

/**
 * The cohort: centres, each the mean of embeddings of five people. A face that is close to some of them looks common to the
 * net; subtracting that closeness lets one threshold serve groups whose cosines are generally higher (adaptive S-norm, as in
 * speaker verification).
 */

export interface LabelledEmbedding {
  person: string;
  /** Each person has one centre in each set. */
  set: string;
  /** A unit vector. */
  embedding: Float32Array;
}

/** People per centre: a face and its nearest of others, so that no centre is the template of one person. */
export const peopleOfCentre = 5;
/** Faces with a higher cosine may belong to the same person under another name. */
const samePerson = 0.6;
/**
 * Maximum number of centres, which limits the bytes of the package and the time per face. More people are
 * thinned out evenly.
 */
const mostCentres = 6500;
/** Number of a face's highest cosines with the centres that are averaged. */
export const highest = 50;
/**
 * Number of candidates per centre. It exceeds the need, so that held-out cohorts find others for the omitted
 * people.
 */
export const candidates = 24;

/**
 * Returns the first image of each person of a set, thinned out: the faces whose neighbourhoods become
 * centres.
 */
export function seedsOf<T extends LabelledEmbedding>(images: readonly T[]): { faces: T[]; seeds: number[] } {
  const firsts = new Map<string, T>();
  for (const image of images) {
    const name = `${image.set}\t${image.person}`;
    if (!firsts.has(name)) firsts.set(name, image);
  }
  const faces = [...firsts.values()];
  const step = Math.max(1, faces.length / mostCentres);
  const seeds = Array.from({ length: Math.floor(faces.length / step) }, (_, i) => Math.floor(i * step));
  return { faces, seeds };
}

/**
 * The nearest faces of seeds are searched among all: `vectors` is a row for each face, `people` the number of
 * each one's person.
 */
export interface NearestTask {
  vectors: Float32Array;
  dimensions: number;
  people: Uint32Array;
  seeds: Uint32Array;
}

export interface ScoresTask {
  /** A row for each face that centres are made of. */
  vectors: Float32Array;
  dimensions: number;
  /** Each pair of folds (foldPair) has its centres: `peopleOfCentre` faces each. */
  plans: readonly Int32Array[];
  /** Length of the sum of its faces, for each centre of each plan. */
  lengths: readonly Float32Array[];
  /** The faces to score, and the fold of each one's person. */
  faces: Float32Array;
  own: Uint8Array;
}

/** Returns for each seed a row of `candidates` indices, nearest first, each of another person; -1 where there are no more. */
export function nearestFaces({ vectors, dimensions, people, seeds }: NearestTask): Int32Array {
  const rows = rowsOf(vectors, dimensions);
  const found = new Int32Array(seeds.length * candidates).fill(-1);
  for (const [row, seed] of seeds.entries()) {
    // The nearest face of each person so far, nearest first.
    const nearest: { face: number; cosine: number }[] = [];
    for (let face = 0; face < rows.length; face++) {
      if (people[face] === people[seed]) continue;
      const cosine = Math.fround(dot(rows[seed]!, rows[face]!));
      if (cosine > samePerson) continue;
      if (nearest.length === candidates && cosine <= nearest.at(-1)!.cosine) continue;
      const known = nearest.findIndex((one) => people[one.face] === people[face]);
      if (known >= 0 && nearest[known]!.cosine >= cosine) continue;
      if (known >= 0) nearest.splice(known, 1);
      const place = nearest.findIndex((one) => one.cosine < cosine);
      nearest.splice(place < 0 ? nearest.length : place, 0, { face, cosine });
      if (nearest.length > candidates) nearest.pop();
    }
    for (const [column, { face }] of nearest.entries()) found[row * candidates + column] = face;
  }
  return found;
}

/**
 * Returns the faces of a seed's centre among those that `isLeft` does not omit; undefined if there are too
 * few.
 */
export function membersOf(
  seed: number,
  nearest: Int32Array,
  isLeft: (face: number) => boolean,
): number[] | undefined {
  if (isLeft(seed)) return undefined;
  const members = [seed];
  for (const face of nearest) {
    if (face < 0 || members.length === peopleOfCentre) break;
    if (!isLeft(face)) members.push(face);
  }
  return members.length === peopleOfCentre ? members : undefined;
}

/** Returns the length of the sum of each centre's faces. */
export function lengthsOfSums(members: Int32Array, rows: readonly Float32Array[]): Float32Array {
  return Float32Array.from({ length: members.length / peopleOfCentre }, (_, centre) => {
    const own = members.subarray(centre * peopleOfCentre, (centre + 1) * peopleOfCentre);
    const sum = new Float32Array(rows[0]!.length);
    for (const face of own) {
      const row = rows[face]!;
      for (let i = 0; i < sum.length; i++) sum[i]! += row[i]!;
    }
    return Math.sqrt(dot(sum, sum));
  });
}

export function rowsOf<T extends Float32Array | Int32Array>(values: T, length: number): T[] {
  return Array.from(
    { length: values.length / length },
    (_, i) => values.subarray(i * length, (i + 1) * length) as T,
  );
}

/**
 * Returns the stored form: each centre is a row of signed bytes. Its length does not matter, because only
 * cosines are used.
 */
export function quantise(centres: readonly Float32Array[]): Int8Array {
  const dimensions = centres[0]?.length ?? 0;
  const bytes = new Int8Array(centres.length * dimensions);
  for (const [row, centre] of centres.entries()) {
    const scale = 127 / centre.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    for (const [column, value] of centre.entries())
      bytes[row * dimensions + column] = Math.round(value * scale);
  }
  return bytes;
}

/**
 * Returns the mean of the `highest` greatest of the numbers, which it reorders. The same as in
 * native/core/embed/embedding_scores.cpp.
 */
export function meanOfHighest(numbers: Float32Array): number {
  const count = Math.min(highest, numbers.length);
  if (count === 0) return 0;
  // Quickselect (Hoare): sorting thousands of cosines for each face would take longer than computing them.
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const pivot = numbers[(low + high) >> 1]!;
    let [i, j] = [low, high];
    while (i <= j) {
      while (numbers[i]! > pivot) i++;
      while (numbers[j]! < pivot) j--;
      if (i > j) break;
      const kept = numbers[i]!;
      numbers[i++] = numbers[j]!;
      numbers[j--] = kept;
    }
    if (count - 1 <= j) high = j;
    else if (count - 1 >= i) low = i;
    else break;
  }
  return numbers.subarray(0, count).reduce((sum, value) => sum + value, 0) / count;
}
