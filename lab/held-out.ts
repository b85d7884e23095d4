import { meanOf } from 'facematch/for-lab';
import {
  candidates,
  type LabelledEmbedding,
  lengthsOfSums,
  membersOf,
  type NearestTask,
  rowsOf,
  type ScoresTask,
  seedsOf,
} from './cohort.ts';
import { runTasks } from './embed-images.ts';
import { numberPeople } from './non-mated.ts';
import { foldOf } from './people.ts';

/**
 * People are divided into this many folds. The cohort of a pair omits the folds of its two people. Fewer folds would
 * omit more people than necessary.
 */
export const folds = 10;

/** Returns the index of an unordered pair of folds, which may be the same. */
export function foldPair(first: number, second: number): number {
  const [low, high] = first < second ? [first, second] : [second, first];
  return (high * (high + 1)) / 2 + low;
}

/** All pairs of folds. Each has its own cohort. */
export const foldPairs = Array.from({ length: folds }, (_, high) =>
  Array.from({ length: high + 1 }, (_, low) => [low, high] as const),
).flat();

/** Memoizes a function of the omitted folds (two or none). */
export function perFolds<Result>(compute: (left: readonly number[]) => Result) {
  const known = new Map<string, Result>();
  return (...left: readonly number[]): Result => {
    const key = left.join();
    if (!known.has(key)) known.set(key, compute(left));
    return known.get(key)!;
  };
}

type Person = Pick<LabelledEmbedding, 'person' | 'embedding'>;

/** Number of tasks that each step is split into, for the progress bar. */
const tasksPerStep = 40;

/**
 * Computes the centres of all `images`, and the cohort scores of `judged` (by default `images`). Each face has
 * one score per fold, from the cohort without that fold and the fold of its person. Rejects with an Error whose
 * message is meant for the user if there are too few people.
 */
export async function makeCohorts(
  images: readonly LabelledEmbedding[],
  workers: number,
  judged: readonly Person[] = images,
) {
  const { faces, seeds } = seedsOf(images);
  const dimensions = faces[0]?.embedding.length ?? 0;
  const vectors = shared(faces, dimensions);
  const { numbers: people } = numberPeople(faces);
  const worker = new URL('./cohort-worker.js', import.meta.url);
  const found = await runTasks<NearestTask, Int32Array>(
    'nearest faces',
    worker,
    workers,
    chunks(seeds).map((some) => ({ vectors, dimensions, people, seeds: Uint32Array.from(some) })),
  );
  const nearest = found.flatMap((rows) => rowsOf(rows, candidates));
  const centresWithout = (isOmitted: (face: number) => boolean) =>
    seeds.flatMap((seed, i) => {
      const members = membersOf(seed, nearest[i]!, isOmitted);
      return members ? [members] : [];
    });
  const foldOfFace = faces.map(({ person }) => foldOf(person, folds));
  const plans: Int32Array[] = [];
  for (const [low, high] of foldPairs) {
    const members = centresWithout((face) => foldOfFace[face] === low || foldOfFace[face] === high);
    if (members.length === 0) {
      throw new Error('There are too few people for a cohort that omits the people of a pair.');
    }
    plans[foldPair(low, high)] = Int32Array.from(members.flat());
  }
  const rows = rowsOf(vectors, dimensions);
  const lengths = plans.map((members) => lengthsOfSums(members, rows));
  const scores = await runTasks<ScoresTask, Float32Array>(
    'cohort scores',
    worker,
    workers,
    chunks(judged).map((some) => {
      const own = Uint8Array.from(some, ({ person }) => foldOf(person, folds));
      return { vectors, dimensions, plans, lengths, faces: shared(some, dimensions), own };
    }),
  );
  const whole = centresWithout(() => false);
  return {
    centres: whole.map((members) => meanOf(members.map((i) => faces[i]!.embedding))),
    heldOut: new HeldOutCohorts(
      judged.map(({ embedding }) => embedding),
      scores.flatMap((some) => rowsOf(some, folds)),
    ),
  };
}

/** Cohort scores of faces, each from the centres without the fold of the face's person and one other fold. */
export class HeldOutCohorts {
  readonly #scores: ReadonlyMap<Float32Array, Float32Array>;

  /** `scores` has a row for each embedding, with a score for each fold. */
  constructor(embeddings: readonly Float32Array[], scores: readonly Float32Array[]) {
    this.#scores = new Map(embeddings.map((embedding, row) => [embedding, scores[row]!]));
  }

  /** Returns a face's cohort score for a pair with a person of fold `other`. Throws an Error for an unknown face. */
  score(embedding: Float32Array, other: number): number {
    const scores = this.#scores.get(embedding);
    if (scores === undefined) throw new Error('No cohort score was computed for this face');
    return scores[other]!;
  }

  scores(a: Person, b: Person): [number, number] {
    const [first, second] = [foldOf(a.person, folds), foldOf(b.person, folds)];
    return [this.score(a.embedding, second), this.score(b.embedding, first)];
  }
}

function chunks<T>(list: readonly T[]): T[][] {
  const size = Math.max(1, Math.ceil(list.length / tasksPerStep));
  return Array.from({ length: tasksPerStep }, (_, i) => list.slice(i * size, (i + 1) * size));
}

/** Copies the embeddings into one SharedArrayBuffer, which all threads read. */
function shared(faces: readonly Person[], dimensions: number): Float32Array {
  const all = new Float32Array(new SharedArrayBuffer(faces.length * dimensions * 4));
  for (const [row, { embedding }] of faces.entries()) all.set(embedding, row * dimensions);
  return all;
}
