/**
 * The cohort: centres of the embeddings of many people. How near a face lies to its nearest centres says how common
 * its looks are among the people that the net was trained on; subtracting that is what lets one threshold serve
 * groups whose raw cosines run higher (S-norm, as in speaker verification).
 */

export interface LabelledEmbedding {
  person: string;
  /** Of unit length. */
  embedding: Float32Array;
}

export interface CohortOptions {
  /** How many centres k-means starts from. */
  clusters: number;
  /** A centre of fewer people is dropped: none may be anyone's template. */
  least_people: number;
  iterations: number;
}

export const cohortOptions: CohortOptions = { clusters: 128, least_people: 5, iterations: 8 };

/** How soft the maximum of a face's cosines with the centres is: the larger, the more the nearest centres alone count. */
export const inverseTemperature = 30;

/** Spherical k-means; the same pictures in the same order give the same centres. Each centre is of unit length. */
export function cohortCentres(
  pictures: readonly LabelledEmbedding[],
  options = cohortOptions,
): Float32Array[] {
  const embeddings = pictures.map(({ embedding }) => embedding);
  // Evenly spread over a list that is sorted by person: seeds of many people, without chance.
  const step = embeddings.length / options.clusters;
  let centres = Array.from({ length: options.clusters }, (_, i) => embeddings[Math.floor(i * step)]!);
  let nearest: number[] = [];
  for (let iteration = 0; iteration < options.iterations; iteration++) {
    nearest = embeddings.map((embedding) => nearestOf(embedding, centres));
    centres = centres.map(
      (centre, index) => meanOf(embeddings.filter((_, i) => nearest[i] === index)) ?? centre,
    );
  }
  return centres.filter((_, index) => {
    const people = new Set(pictures.filter((_, i) => nearest[i] === index).map(({ person }) => person));
    return people.size >= options.least_people;
  });
}

/** As they are stored: each a row of signed bytes, whose length does not matter because cosines are taken. */
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

/** The centres as the native core reads them back, of unit length. */
export function dequantise(bytes: Int8Array, dimensions: number): Float32Array[] {
  const centres: Float32Array[] = [];
  for (let start = 0; start < bytes.length; start += dimensions) {
    centres.push(unit(Float32Array.from(bytes.subarray(start, start + dimensions))));
  }
  return centres;
}

/**
 * Soft maximum (log-mean-exp) of a face's cosines with the centres: what is subtracted from its similarities. 0 without
 * centres.
 */
export function cohortScore(
  embedding: Float32Array,
  centres: readonly Float32Array[],
  steepness = inverseTemperature,
): number {
  if (centres.length === 0) return 0;
  const cosines = Float64Array.from(centres, (centre) => dot(embedding, centre));
  const most = cosines.reduce((a, b) => Math.max(a, b));
  const sum = cosines.reduce((total, cosine) => total + Math.exp(steepness * (cosine - most)), 0);
  return most + Math.log(sum / centres.length) / steepness;
}

/** Four sums at once: k-means spends nearly all its time here, and one sum would wait for itself. */
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

function nearestOf(embedding: Float32Array, centres: readonly Float32Array[]): number {
  let best = 0;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < centres.length; i++) {
    const cosine = dot(embedding, centres[i]!);
    if (cosine > most) {
      most = cosine;
      best = i;
    }
  }
  return best;
}

function meanOf(embeddings: readonly Float32Array[]): Float32Array | undefined {
  const [first] = embeddings;
  if (first === undefined) return undefined;
  const sum = new Float32Array(first.length);
  for (const embedding of embeddings) {
    for (let i = 0; i < sum.length; i++) sum[i]! += embedding[i]!;
  }
  return unit(sum);
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 ? vector.map((value) => value / length) : vector;
}
