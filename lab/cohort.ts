import { dot } from 'facematch/for-lab';

/**
 * The cohort consists of centres, each the mean embedding of five people. A face that is close to several centres has
 * high cosines with many people. Subtracting its mean cosine with the closest centres makes one threshold valid for
 * groups with generally higher cosines (adaptive S-norm, from speaker verification).
 */

export interface LabelledEmbedding {
  person: string;
  /** Each person of a set is the seed of at most one centre. */
  set: string;
  /** Unit vector. */
  embedding: Float32Array;
}

/** People per centre: a face and the nearest faces of others, so that no centre is the template of one person. */
export const peopleOfCentre = 5;
/** Faces with a higher cosine may belong to the same person under another name. */
const samePerson = 0.6;
/** Maximum number of centres, which bounds the size of the pack and the time per face. */
const maxCentres = 6500;
/** Number of cosines in a cohort score, which is the mean of the highest cosines with the centres. */
export const highest = 50;
/** Number of candidates per centre, including substitutes for the people that a held-out cohort omits. */
export const candidates = 24;

/**
 * Returns the first face of each person of each set. `seeds` are the indices of at most maxCentres evenly spaced
 * faces; each is the seed of a centre.
 */
export function seedsOf<T extends LabelledEmbedding>(images: readonly T[]): { faces: T[]; seeds: number[] } {
  const firsts = new Map<string, T>();
  for (const image of images) {
    const name = `${image.set}\t${image.person}`;
    if (!firsts.has(name)) firsts.set(name, image);
  }
  const faces = [...firsts.values()];
  const step = Math.max(1, faces.length / maxCentres);
  const seeds = Array.from({ length: Math.floor(faces.length / step) }, (_, i) => Math.floor(i * step));
  return { faces, seeds };
}

/** Input of `nearestFaces`. For each face, `vectors` has a row, and `people` the number of its person. */
export interface NearestTask {
  vectors: Float32Array;
  dimensions: number;
  people: Uint32Array;
  seeds: Uint32Array;
}

export interface ScoresTask {
  /** One row for each face from which centres are made. */
  vectors: Float32Array;
  dimensions: number;
  /** Indexed by foldPair: `peopleOfCentre` face indices per centre, without faces of these two folds. */
  plans: readonly Int32Array[];
  /** Length of each centre's sum of faces, for each plan. */
  lengths: readonly Float32Array[];
  /** The faces to score. `own` has the fold of each face's person. */
  faces: Float32Array;
  own: Uint8Array;
}

/**
 * Returns a row of `candidates` indices for each seed: the nearest face of each other person with a cosine of at most
 * `samePerson`, nearest first. Fills the row with -1 if there are fewer.
 */
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

/** Returns the faces of a seed's centre that are not omitted; undefined if there are too few or the seed is omitted. */
export function membersOf(
  seed: number,
  nearest: Int32Array,
  isOmitted: (face: number) => boolean,
): number[] | undefined {
  if (isOmitted(seed)) return undefined;
  const members = [seed];
  for (const face of nearest) {
    if (face < 0 || members.length === peopleOfCentre) break;
    if (!isOmitted(face)) members.push(face);
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
 * Returns the bytes to store: one row per centre. Each row has its own scale, because only cosines are computed.
 */
export function quantise(centres: readonly Float32Array[]): Int8Array {
  const dimensions = centres[0]?.length ?? 0;
  const bytes = new Int8Array(centres.length * dimensions);
  for (const [row, centre] of centres.entries()) {
    const scale = 127 / centre.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    for (const [column, value] of centre.entries())
      bytes[row * dimensions + column] = Math.round(value * scale);
  }
  return bytes;
}

/**
 * Returns the mean of the greatest numbers (at most `highest`), like native/core/embed/embedding_scores.cpp; 0 for an
 * empty array. Reorders the array.
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
