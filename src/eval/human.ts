import { dot } from './cohort.ts';
import { foldOf } from './people.ts';

/**
 * The human check: a linear function of the embedding that tells faces of people from false detections. Logistic regression
 * with a ridge penalty and the same weight for both classes.
 */
interface HumanCheck {
  weights: Float64Array;
  bias: number;
}

/** Faces with a lower score are dropped. Chosen to keep people: docs/model-card.md has the figures. */
export const humanThreshold = -1.25;

/** A face with the person or image that it comes from; faces of one source are left out together. */
export interface HumanExample {
  source: string;
  /** The set that it is counted in. */
  set: string;
  embedding: Float32Array;
}

const ridge = 10;
const steps = 400;
const folds = 5;

/** Accelerated gradient descent (Nesterov). The same examples in the same order give the same check. */
export function fitHumanCheck(people: readonly HumanExample[], others: readonly HumanExample[]): HumanCheck {
  const examples = [...people, ...others];
  const dimensions = examples[0]!.embedding.length;
  const weightOf = (i: number) =>
    (i < people.length ? 0.5 / people.length : 0.5 / others.length) * examples.length;
  // Upper bound of the curvature: a quarter of the weighted squares, where a unit embedding and the bias add up to 2.
  const rate = 1 / (0.25 * 2 * examples.length + ridge);
  let weights = new Float64Array(dimensions + 1);
  let ahead = weights;
  for (let step = 1; step <= steps; step++) {
    const slope = ahead.map((value, i) => (i < dimensions ? ridge * value : 0));
    const asFloats = Float32Array.from(ahead.subarray(0, dimensions));
    for (const [i, { embedding }] of examples.entries()) {
      const sign = i < people.length ? 1 : -1;
      const margin = sign * (dot(embedding, asFloats) + ahead[dimensions]!);
      const pull = (-sign * weightOf(i)) / (1 + Math.exp(margin));
      for (let j = 0; j < dimensions; j++) slope[j]! += pull * embedding[j]!;
      slope[dimensions]! += pull;
    }
    const next = ahead.map((value, i) => value - rate * slope[i]!);
    const momentum = (step - 1) / (step + 2);
    ahead = next.map((value, i) => value + momentum * (value - weights[i]!));
    weights = next;
  }
  return { weights: weights.slice(0, dimensions), bias: weights[dimensions]! };
}

export function humanScore({ weights, bias }: HumanCheck, embedding: Float32Array): number {
  return weights.reduce((sum, weight, i) => sum + weight * embedding[i]!, bias);
}

/** The stored form: signed bytes, and the value of one unit. */
export function quantiseCheck({ weights }: HumanCheck): { bytes: Int8Array; scale: number } {
  const scale = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) / 127;
  return { bytes: Int8Array.from(weights, (weight) => Math.round(weight / scale)), scale };
}

/** How many faces of a set pass a check that was fitted without their person or image. */
export interface HumanTally {
  set: string;
  faces: number;
  passed: number;
  /** People or images, and those with at least one face that passed. */
  sources: number;
  sources_passed: number;
}

export function tallyHumanCheck(
  people: readonly HumanExample[],
  others: readonly HumanExample[],
  counted: (example: HumanExample) => boolean,
): HumanTally[] {
  const passed = new Map<HumanExample, boolean>();
  for (let fold = 0; fold < folds; fold++) {
    const isLeft = ({ source }: HumanExample) => foldOf(source, folds) === fold;
    const check = fitHumanCheck(
      people.filter((one) => !isLeft(one)),
      others.filter((one) => !isLeft(one)),
    );
    for (const one of [...people, ...others]) {
      if (isLeft(one)) passed.set(one, humanScore(check, one.embedding) >= humanThreshold);
    }
  }
  const all = [...people, ...others].filter(counted);
  return [...new Set(all.map(({ set }) => set))].map((set) => {
    const faces = all.filter((one) => one.set === set);
    const through = faces.filter((one) => passed.get(one));
    return {
      set,
      faces: faces.length,
      passed: through.length,
      sources: new Set(faces.map(({ source }) => source)).size,
      sources_passed: new Set(through.map(({ source }) => source)).size,
    };
  });
}
