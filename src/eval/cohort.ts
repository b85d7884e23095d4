/**
 * The cohort: means of the embeddings of several people each. How near a face lies to them says how common its looks are
 * to the net; subtracting that is what lets one threshold serve groups whose raw cosines run higher (S-norm, as in speaker
 * verification).
 */

export interface LabelledEmbedding {
  person: string;
  /** People of one group make centres among themselves. */
  group: string;
  /** Of unit length. */
  embedding: Float32Array;
}

/** No centre is of fewer people: none may be anyone's template. */
const leastPeople = 5;
/** A group of fewer pictures has a centre for each of them. */
const fewPictures = 200;
const kMeansRuns = 3;
const mostClusters = 40;
const peopleForACluster = 4;
const iterations = 8;

/** How many of a face's highest cosines with the centres are averaged. */
export const highest = 5;

/** What the mean of the highest cosines and the standard deviation of all count; docs/model-card.md says what was tried. */
export const cohortWeights = { highest: 0.575, spread: 1.25 };

/**
 * Unit vectors, group by group; the same pictures in the same order give the same centres. A large group is clustered by
 * spherical k-means, several times from other seeds. In a small group each picture is averaged with its nearest of other
 * people: so few clusters would not tell apart who is in it.
 */
export function cohortCentres(pictures: readonly LabelledEmbedding[]): Float32Array[] {
  return [...groupsOf(pictures).values()].flatMap((group) => {
    const people = peopleOf(group).size;
    if (people < leastPeople) return [];
    if (group.length < fewPictures) return group.map((picture) => neighbourhood(picture, group));
    const clusters = Math.min(mostClusters, Math.floor(people / peopleForACluster));
    return Array.from({ length: kMeansRuns }, (_, run) => kMeans(group, clusters, run / kMeansRuns)).flat();
  });
}

function groupsOf(pictures: readonly LabelledEmbedding[]): Map<string, LabelledEmbedding[]> {
  const groups = new Map<string, LabelledEmbedding[]>();
  for (const picture of pictures) {
    const group = groups.get(picture.group);
    if (group) group.push(picture);
    else groups.set(picture.group, [picture]);
  }
  return groups;
}

/** The mean of a picture and of the nearest picture of each of the people who are nearest to it. */
function neighbourhood(picture: LabelledEmbedding, group: readonly LabelledEmbedding[]): Float32Array {
  const cosines = new Map(group.map((other) => [other, dot(picture.embedding, other.embedding)]));
  const nearest = new Map<string, LabelledEmbedding>([[picture.person, picture]]);
  for (const [other] of [...cosines].sort(([, a], [, b]) => b - a)) {
    if (nearest.size === leastPeople) break;
    if (!nearest.has(other.person)) nearest.set(other.person, other);
  }
  return meanOf([...nearest.values()])!;
}

/** `shift`, from 0 to 1, moves the seeds, which are spread evenly over the list. */
function kMeans(pictures: readonly LabelledEmbedding[], count: number, shift: number): Float32Array[] {
  const step = pictures.length / count;
  let centres = Array.from({ length: count }, (_, i) => pictures[Math.floor((i + shift) * step)]!.embedding);
  let clusters: LabelledEmbedding[][] = [];
  for (let iteration = 0; iteration < iterations; iteration++) {
    clusters = centres.map(() => []);
    for (const picture of pictures) clusters[nearestOf(picture.embedding, centres)]!.push(picture);
    centres = centres.map((centre, index) => meanOf(clusters[index]!) ?? centre);
  }
  return centres.filter((_, index) => peopleOf(clusters[index]!).size >= leastPeople);
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

/** How common a face's looks are: what is subtracted from its similarities. As native/core/embedding_scores.cpp. */
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
