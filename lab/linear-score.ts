import { dot } from 'facematch/for-lab';
import { foldOf } from './people.ts';

/**
 * A linear function of the embedding that separates two classes of faces: logistic regression with a ridge penalty
 * and equal class weights. The human check separates people from false detections. The occlusion score separates
 * faces with covered nose and mouth from others.
 */
interface LinearScore {
  weights: Float64Array;
  bias: number;
}

/** Faces with a lower human score are discarded. docs/model-card.md states how many people are discarded. */
export const humanThreshold = -1.25;

/** Faces with a higher occlusion score count as covered. The bias in the pack includes this threshold. */
export const occlusionThreshold = 0.5;

/** A face with its source, which is a person or an image. Faces of one source are held out together. */
export interface Example {
  source: string;
  /** The set in which the face is counted. */
  set: string;
  embedding: Float32Array;
  /** False for an example that is used in the fit, but not in the test. */
  isCounted: boolean;
}

const ridge = 10;
const steps = 400;
const folds = 5;

/** Fits by accelerated gradient descent (Nesterov), deterministically. The score is high for the first class. */
export function fitLinear(high: readonly Example[], low: readonly Example[]): LinearScore {
  const examples = [...high, ...low];
  const dimensions = examples[0]!.embedding.length;
  const weightOf = (i: number) => (i < high.length ? 0.5 / high.length : 0.5 / low.length) * examples.length;
  // The inverse of a bound on the curvature: a quarter of the weighted squared norms, plus the ridge. An embedding
  // with its bias term has the squared norm 2.
  const rate = 1 / (0.25 * 2 * examples.length + ridge);
  let weights = new Float64Array(dimensions + 1);
  let ahead = weights;
  for (let step = 1; step <= steps; step++) {
    const slope = ahead.map((value, i) => (i < dimensions ? ridge * value : 0));
    const asFloats = Float32Array.from(ahead.subarray(0, dimensions));
    for (const [i, { embedding }] of examples.entries()) {
      const sign = i < high.length ? 1 : -1;
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

export function linearScore({ weights, bias }: LinearScore, embedding: Float32Array): number {
  return weights.reduce((sum, weight, i) => sum + weight * embedding[i]!, bias);
}

/** Returns the stored form: signed bytes, and the value of one unit. */
export function quantiseLinear({ weights }: LinearScore): { bytes: Int8Array; scale: number } {
  const scale = weights.reduce((max, weight) => Math.max(max, Math.abs(weight)), 0) / 127;
  return { bytes: Int8Array.from(weights, (weight) => Math.round(weight / scale)), scale };
}

export type Tally = ReturnType<typeof tallyLinear>[number];

/**
 * Cross-validates a linear score over sources. Counts the faces of each set that reach the threshold, and the sources
 * with at least one such face.
 */
export function tallyLinear(high: readonly Example[], low: readonly Example[], threshold: number) {
  const scores = Array.from({ length: folds }, (_, fold) => {
    const isKept = ({ source }: Example) => foldOf(source, folds) !== fold;
    return fitLinear(high.filter(isKept), low.filter(isKept));
  });
  const isHigh = ({ source, embedding }: Example) =>
    linearScore(scores[foldOf(source, folds)]!, embedding) >= threshold;
  const sourcesOf = (some: readonly Example[]) => new Set(some.map(({ source }) => source)).size;
  const all = [...high, ...low].filter(({ isCounted }) => isCounted);
  return [...new Set(all.map(({ set }) => set))].map((set) => {
    const faces = all.filter((one) => one.set === set);
    const passed = faces.filter(isHigh);
    return {
      set,
      faces: faces.length,
      passed: passed.length,
      sources: sourcesOf(faces),
      sources_passed: sourcesOf(passed),
    };
  });
}
