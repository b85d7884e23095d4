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
  runs: number;
  /** How many centres a run of k-means starts from. */
  clusters: number;
  /** A centre of fewer people is dropped: none may be anyone's template. */
  least_people: number;
  iterations: number;
}

export const cohortOptions: CohortOptions = { runs: 3, clusters: 96, least_people: 5, iterations: 6 };

/** How many of a face's highest cosines with the centres are averaged. */
export const highest = 12;

/**
 * Spherical k-means, several times from other seeds, so that no seed's luck decides; the same pictures in the same order
 * give the same centres, each of unit length. In a centre its people count alike, however many pictures they have: nobody's
 * own face makes more than a `least_people`th of it.
 */
export function cohortCentres(
  pictures: readonly LabelledEmbedding[],
  options = cohortOptions,
): Float32Array[] {
  return Array.from({ length: options.runs }, (_, run) =>
    kMeans(pictures, options, run / options.runs),
  ).flat();
}

/** `shift`, from 0 to 1, moves the seeds, which are spread evenly over a list that is sorted by person. */
function kMeans(
  pictures: readonly LabelledEmbedding[],
  options: CohortOptions,
  shift: number,
): Float32Array[] {
  const step = pictures.length / options.clusters;
  let centres = Array.from(
    { length: options.clusters },
    (_, i) => pictures[Math.floor((i + shift) * step)]!.embedding,
  );
  let clusters: LabelledEmbedding[][] = [];
  for (let iteration = 0; iteration < options.iterations; iteration++) {
    clusters = centres.map(() => []);
    for (const picture of pictures) clusters[nearestOf(picture.embedding, centres)]!.push(picture);
    centres = centres.map((centre, index) => meanOf(clusters[index]!) ?? centre);
  }
  return centres.filter((_, index) => peopleOf(clusters[index]!).size >= options.least_people);
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

/** Mean of a face's `count` highest cosines with the centres: what is subtracted from its similarities. */
export function cohortScore(
  embedding: Float32Array,
  centres: readonly Float32Array[],
  count = highest,
): number {
  const cosines = Float64Array.from(centres, (centre) => dot(embedding, centre)).sort();
  const top = cosines.subarray(Math.max(0, cosines.length - count));
  return top.length === 0 ? 0 : top.reduce((sum, value) => sum + value, 0) / top.length;
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

/** Of each person's pictures together. */
function meanOf(cluster: readonly LabelledEmbedding[]): Float32Array | undefined {
  const [first] = cluster;
  if (first === undefined) return undefined;
  const counts = peopleOf(cluster);
  const sum = new Float32Array(first.embedding.length);
  for (const { person, embedding } of cluster) {
    const weight = 1 / counts.get(person)!;
    for (let i = 0; i < sum.length; i++) sum[i]! += weight * embedding[i]!;
  }
  return unit(sum);
}

/** How many pictures each has. */
function peopleOf(cluster: readonly LabelledEmbedding[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { person } of cluster) counts.set(person, (counts.get(person) ?? 0) + 1);
  return counts;
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 ? vector.map((value) => value / length) : vector;
}
