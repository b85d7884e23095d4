/**
 * The cohort: centres, each the mean of embeddings of several people. A face that is close to them looks common to the net;
 * subtracting that closeness lets one threshold serve groups whose cosines are generally higher (S-norm, as in speaker
 * verification).
 */

export interface LabelledEmbedding {
  person: string;
  /** Centres are made within each group. */
  group: string;
  /** A unit vector. */
  embedding: Float32Array;
}

/** Least people of a centre, so that no centre is the template of one person. */
const leastPeople = 5;
/** A group of fewer images gets a centre for each of them. */
const fewImages = 200;
const kMeansRuns = 3;
const mostClusters = 40;
const peopleForACluster = 4;
const iterations = 8;

/** How many of a face's highest cosines with the centres are averaged. */
export const highest = 5;

/** Weights of the mean of the highest cosines and of the standard deviation of all; docs/model-card.md has the trials. */
export const cohortWeights = { highest: 0.575, spread: 1.25 };

/**
 * Centres as unit vectors, group by group; the same images in the same order give the same centres. A large group is clustered
 * by spherical k-means, several times with different seeds. In a small group each image is averaged with its nearest images of
 * other people, because it would have too few clusters.
 */
export function cohortCentres(images: readonly LabelledEmbedding[]): Float32Array[] {
  return [...groupsOf(images).values()].flatMap((group) => {
    const people = peopleOf(group).size;
    if (people < leastPeople) return [];
    if (group.length < fewImages) return group.map((image) => neighbourhood(image, group));
    const clusters = Math.min(mostClusters, Math.floor(people / peopleForACluster));
    return Array.from({ length: kMeansRuns }, (_, run) => kMeans(group, clusters, run / kMeansRuns)).flat();
  });
}

function groupsOf(images: readonly LabelledEmbedding[]): Map<string, LabelledEmbedding[]> {
  const groups = new Map<string, LabelledEmbedding[]>();
  for (const image of images) {
    const group = groups.get(image.group);
    if (group) group.push(image);
    else groups.set(image.group, [image]);
  }
  return groups;
}

/** The mean of an image and of the nearest image of each of its nearest other people. */
function neighbourhood(image: LabelledEmbedding, group: readonly LabelledEmbedding[]): Float32Array {
  const cosines = new Map(group.map((other) => [other, dot(image.embedding, other.embedding)]));
  const nearest = new Map<string, LabelledEmbedding>([[image.person, image]]);
  for (const [other] of [...cosines].sort(([, a], [, b]) => b - a)) {
    if (nearest.size === leastPeople) break;
    if (!nearest.has(other.person)) nearest.set(other.person, other);
  }
  return meanOf([...nearest.values()])!;
}

/** Spherical k-means. `shift`, 0..1, moves the seeds, which are spread evenly over the list. */
function kMeans(images: readonly LabelledEmbedding[], count: number, shift: number): Float32Array[] {
  const step = images.length / count;
  let centres = Array.from({ length: count }, (_, i) => images[Math.floor((i + shift) * step)]!.embedding);
  let clusters: LabelledEmbedding[][] = [];
  for (let iteration = 0; iteration < iterations; iteration++) {
    clusters = centres.map(() => []);
    for (const image of images) clusters[nearestOf(image.embedding, centres)]!.push(image);
    centres = centres.map((centre, index) => meanOf(clusters[index]!) ?? centre);
  }
  return centres.filter((_, index) => peopleOf(clusters[index]!).size >= leastPeople);
}

/** The stored form: each centre a row of signed bytes. Its length does not matter, because only cosines are used. */
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

/** The stored centres as unit vectors, as the native core reads them. */
export function dequantise(bytes: Int8Array, dimensions: number): Float32Array[] {
  const centres: Float32Array[] = [];
  for (let start = 0; start < bytes.length; start += dimensions) {
    centres.push(unit(Float32Array.from(bytes.subarray(start, start + dimensions))));
  }
  return centres;
}

/** How common a face looks: subtracted from its similarities. The same as in native/core/embed/embedding_scores.cpp. */
export function cohortScore(embedding: Float32Array, centres: readonly Float32Array[]): number {
  if (centres.length === 0) return 0;
  const cosines = Float64Array.from(centres, (centre) => dot(embedding, centre)).sort();
  const mean = meanOfNumbers(cosines);
  const spread = Math.sqrt(meanOfNumbers(cosines.map((cosine) => (cosine - mean) ** 2)));
  const top = meanOfNumbers(cosines.subarray(Math.max(0, cosines.length - highest)));
  return cohortWeights.highest * top + cohortWeights.spread * spread;
}

function meanOfNumbers(numbers: Float64Array): number {
  return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

/** Four independent sums, which the CPU can add in parallel: k-means spends nearly all its time here. */
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

/** The mean as a unit vector, in which each person has the same weight; undefined for no images. */
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

/** The number of images of each person. */
function peopleOf(cluster: readonly LabelledEmbedding[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { person } of cluster) counts.set(person, (counts.get(person) ?? 0) + 1);
  return counts;
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 ? vector.map((value) => value / length) : vector;
}
