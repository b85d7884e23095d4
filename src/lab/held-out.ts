import {
  candidates,
  type LabelledEmbedding,
  meanOf,
  membersOf,
  type NearestTask,
  type ScoresTask,
  seedsOf,
} from './cohort.ts';
import { withThreads } from './embed-images.ts';
import { foldOf } from './people.ts';

/**
 * People are divided into this many folds, and a pair's cohort leaves out the folds of its two people. Fewer folds would leave
 * out more people than necessary.
 */
export const folds = 10;

/** The index of an unordered pair of folds, which may be the same. */
export function foldPair(first: number, second: number): number {
  const [low, high] = first < second ? [first, second] : [second, first];
  return (high * (high + 1)) / 2 + low;
}

/** The number of cohorts: one for each pair of folds. */
export const heldOutFits = (folds * (folds + 1)) / 2;

type Person = Pick<LabelledEmbedding, 'person' | 'embedding'>;

interface MakeOptions {
  workers: number;
  /** For progress: each finished task of `cohortTasks`. */
  onTask?(): void;
}

/** The cohort of a pack, and the scores of faces by the cohorts without their people. */
export interface MadeCohorts {
  centres: Float32Array[];
  heldOut: HeldOutCohorts;
}

const tasksOfAStep = 40;
export const cohortTasks = 2 * tasksOfAStep;

/**
 * Makes the centres of all `images`, and the cohort scores of `judged` (by default the same), each by cohorts of the images
 * without the folds of its person and of another. Rejects with an Error with a message for people when there are too few people.
 */
export async function makeCohorts(
  images: readonly LabelledEmbedding[],
  { workers, onTask = () => {} }: MakeOptions,
  judged: readonly Person[] = images,
): Promise<MadeCohorts> {
  const { faces, seeds } = seedsOf(images);
  const dimensions = faces[0]?.embedding.length ?? 0;
  const vectors = shared(
    faces.map(({ embedding }) => embedding),
    dimensions,
  );
  const numbers = new Map([...new Set(faces.map(({ person }) => person))].map((person, i) => [person, i]));
  const people = Uint32Array.from(faces, ({ person }) => numbers.get(person)!);
  const file = new URL('./cohort-worker.js', import.meta.url);
  const run = <Task, Answer>(tasks: readonly Task[]) =>
    withThreads<Task, Answer, Answer[]>(file, workers, (ask) =>
      Promise.all(
        tasks.map(async (task) => {
          const answer = await ask(task);
          onTask();
          return answer;
        }),
      ),
    );
  const nearest = (
    await run<NearestTask, Int32Array>(
      chunks(seeds).map((some) => ({ vectors, dimensions, people, seeds: Uint32Array.from(some) })),
    )
  ).flatMap((found) =>
    Array.from({ length: found.length / candidates }, (_, i) =>
      found.subarray(i * candidates, (i + 1) * candidates),
    ),
  );
  const centresWithout = (isLeft: (face: number) => boolean) =>
    seeds.flatMap((seed, i) => {
      const members = membersOf(seed, nearest[i]!, isLeft);
      return members ? [members] : [];
    });
  const foldOfFace = faces.map(({ person }) => foldOf(person, folds));
  const plans = Array.from({ length: heldOutFits }, () => new Int32Array());
  for (let high = 0; high < folds; high++) {
    for (let low = 0; low <= high; low++) {
      const members = centresWithout((face) => foldOfFace[face] === low || foldOfFace[face] === high);
      if (members.length === 0) {
        throw new Error('There are too few people to make a cohort without those of a pair.');
      }
      plans[foldPair(low, high)] = Int32Array.from(members.flat());
    }
  }
  const embeddings = judged.map(({ embedding }) => embedding);
  const own = Uint8Array.from(judged, ({ person }) => foldOf(person, folds));
  const scores = await run<ScoresTask, Float32Array>(
    chunks([...embeddings.keys()]).map((some) => ({
      vectors,
      dimensions,
      plans,
      faces: shared(
        some.map((i) => embeddings[i]!),
        dimensions,
      ),
      own: Uint8Array.from(some, (i) => own[i]!),
    })),
  );
  const whole = centresWithout(() => false);
  return {
    centres: whole.map((members) => meanOf(members.map((i) => faces[i]!.embedding))),
    heldOut: new HeldOutCohorts(embeddings, concatenated(scores)),
  };
}

/** Cohort scores of faces, each normalised with centres that were made without its person and those of another fold. */
export class HeldOutCohorts {
  readonly #rows: ReadonlyMap<Float32Array, number>;
  readonly #scores: Float32Array;

  constructor(embeddings: readonly Float32Array[], scores: Float32Array) {
    this.#rows = new Map(embeddings.map((embedding, row) => [embedding, row]));
    this.#scores = scores;
  }

  /** The cohort score of a judged face without its own person's fold and the fold `other`. */
  score(embedding: Float32Array, other: number): number {
    const row = this.#rows.get(embedding);
    if (row === undefined) throw new Error('The face was not among those judged');
    return this.#scores[row * folds + other]!;
  }

  /** What is subtracted from the cosine of a pair: the mean of both faces' cohort scores. */
  common(a: Person, b: Person): number {
    const [first, second] = [foldOf(a.person, folds), foldOf(b.person, folds)];
    return (this.score(a.embedding, second) + this.score(b.embedding, first)) / 2;
  }
}

function chunks(list: readonly number[]): number[][] {
  const size = Math.max(1, Math.ceil(list.length / tasksOfAStep));
  return Array.from({ length: tasksOfAStep }, (_, i) => list.slice(i * size, (i + 1) * size));
}

/** One block of memory that all threads read. */
function shared(vectors: readonly Float32Array[], dimensions: number): Float32Array {
  const all = new Float32Array(new SharedArrayBuffer(vectors.length * dimensions * 4));
  for (const [row, vector] of vectors.entries()) all.set(vector, row * dimensions);
  return all;
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    all.set(part, start);
    start += part.length;
  }
  return all;
}
