import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { PackNet } from '../../src/engine/manifest.ts';
import { cornersOf, offsetsOutput } from './boxes.ts';

/**
 * A synthetic image, bytes 0–255 as floats, channel after channel: soft blobs of light on a gradient with a
 * little noise. Constant or purely random input would leave most of a model's units on one side of their
 * bend.
 */
function syntheticImage(shape: number[], seed: number): Float32Array {
  const [, channels, height, width] = shape as [number, number, number, number];
  const random = randomNumbers(seed);
  const image = new Float32Array(channels * height * width);
  const blobs = Array.from({ length: 12 }, () => ({
    x: random() * width,
    y: random() * height,
    radius: (0.05 + random() * 0.3) * width,
    light: Array.from({ length: channels }, () => (random() - 0.5) * 240),
  }));
  for (let i = 0; i < image.length; i++) {
    const channel = Math.floor(i / (height * width));
    const y = Math.floor(i / width) % height;
    const x = i % width;
    let value = 90 + (70 * y) / height + (random() - 0.5) * 12;
    for (const blob of blobs) {
      const distance = ((x - blob.x) ** 2 + (y - blob.y) ** 2) / blob.radius ** 2;
      value += blob.light[channel]! * Math.exp(-distance);
    }
    image[i] = Math.min(255, Math.max(0, Math.round(value)));
  }
  return image;
}

/** Mulberry32: small, and the same on every machine. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

type Allowed = { max_error: number } | { min_cosine: number };

/** Maximum deviation of a rewritten model's values. */
const usual: Allowed = { max_error: 1e-4 };

/** Maximum deviation of the direction of faces' embeddings. */
const ofEmbedder: Allowed = { min_cosine: 0.99999 };

/** Synthetic images are further from the images behind the ranges than any face. */
const ofInt8: Allowed = { min_cosine: 0.95 };

const seeds = [1, 2, 3, 4];

/** Runs both models on fixed inputs. Throws if the rewritten one does not return the original's numbers. */
export async function verifyRewrite(
  net: PackNet,
  original: Uint8Array,
  rewritten: Uint8Array,
): Promise<void> {
  const differences = await compareNets(net.input, inputShape(net), original, rewritten, fixedInputs(net));
  for (const difference of differences) requireSame(net, difference);
}

/** Returns the same images as input for each model. */
export function fixedInputs(net: PackNet): Float32Array[] {
  const shape = inputShape(net);
  const [, , height, width] = shape as [number, number, number, number];
  const plane = height * width;
  return seeds.map((seed) =>
    syntheticImage(shape, seed).map((byte, i) => (byte - meanOf(net, Math.floor(i / plane))) * net.scale),
  );
}

/** The mean of one of the planes of a net's input. */
export function meanOf({ mean }: PackNet, plane: number): number {
  return typeof mean === 'number' ? mean : mean[plane]!;
}

function requireSame(net: PackNet, difference: ReturnType<typeof differenceOf>): void {
  const isInt8 = 'int8' in net && net.int8 !== undefined;
  const allowed = isInt8 ? ofInt8 : net.family === 'arcface' ? ofEmbedder : usual;
  // The condition is negated so that NaN fails too.
  const same =
    'min_cosine' in allowed
      ? difference.cosine >= allowed.min_cosine
      : difference.max_error <= allowed.max_error;
  if (same) return;
  throw new Error(
    `The rewritten ${net.file} does not give the numbers of ${net.from}: cosine ${difference.cosine}, ` +
      `largest difference ${difference.max_error}, allowed ${JSON.stringify(allowed)}`,
  );
}

/** Differences between the outputs of two models: one entry for each input and output. */
export async function compareNets(
  inputName: string,
  shape: number[],
  original: Uint8Array,
  rewritten: Uint8Array,
  inputs: Float32Array[],
) {
  // Computes sums of products of bytes like native/core/runtime/session.cpp: exact on every CPU.
  const extra = { session: { x64quantprecision: '1' } };
  const options: InferenceSession.SessionOptions = { intraOpNumThreads: 1, logSeverityLevel: 3, extra };
  const sessions = await Promise.all(
    [original, rewritten].map((bytes) => InferenceSession.create(bytes, options)),
  );
  try {
    const differences = [];
    for (const input of inputs) {
      const [expected, actual] = await Promise.all(
        sessions.map((session) => session.run({ [inputName]: new Tensor('float32', input, shape) })),
      );
      for (const name of sessions[0]!.outputNames) {
        differences.push(differenceOf(expected![name]!.data as Float32Array, outputOf(actual!, name, shape)));
      }
    }
    return differences;
  } finally {
    await Promise.all(sessions.map((session) => session.release()));
  }
}

/** Returns an output of the rewritten model; boxes that it leaves to its caller are decoded here. */
function outputOf(
  outputs: InferenceSession.OnnxValueMapType,
  name: string,
  [, , height, width]: number[],
): Float32Array | undefined {
  const asItWas = outputs[name]?.data as Float32Array | undefined;
  const offsets = outputs[offsetsOutput]?.data as Float32Array | undefined;
  return asItWas ?? (offsets && cornersOf(offsets, width!, height!));
}

function differenceOf(expected: Float32Array, actual: Float32Array | undefined) {
  if (actual?.length !== expected.length) return { cosine: Number.NaN, max_error: Number.NaN };
  let dot = 0;
  let expectedSquares = 0;
  let actualSquares = 0;
  let max_error = 0;
  for (const [i, e] of expected.entries()) {
    const a = actual[i]!;
    dot += e * a;
    expectedSquares += e * e;
    actualSquares += a * a;
    max_error = Math.max(max_error, Math.abs(e - a));
  }
  return { cosine: dot / Math.sqrt(expectedSquares * actualSquares), max_error };
}

/** Batch, channels, height, width. */
export function inputShape(net: PackNet): number[] {
  const channels = net.channels === 'grey' ? 1 : 3;
  return 'size' in net ? [1, channels, net.size, net.size] : [1, channels, net.height, net.width];
}
