import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { PackNet } from '../../src/engine/manifest.ts';
import { cornersOf, offsetsOutput } from './boxes.ts';

/**
 * Returns a synthetic image in planes, with values 0 to 255: soft blobs on a gradient with a little noise. With
 * constant or purely random input, most activations would stay on one side of their PReLU, so an error on the other
 * side would go unnoticed.
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

/** Returns random numbers in 0–1 from a seed (mulberry32). */
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

const byDefault: Allowed = { max_error: 1e-4 };

const forEmbedders: Allowed = { min_cosine: 0.99999 };

/** This cosine is lower, because the ranges of the quantisation were measured on faces, not on synthetic images. */
const forInt8: Allowed = { min_cosine: 0.95 };

const seeds = [1, 2, 3, 4];

/** Runs both models on fixed inputs. Rejects if the outputs differ by more than the allowed error. */
export async function verifyRewrite(
  net: PackNet,
  original: Uint8Array,
  rewritten: Uint8Array,
): Promise<void> {
  const differences = await compareNets(net.input, inputShape(net), original, rewritten, fixedInputs(net));
  for (const difference of differences) requireSame(net, difference);
}

/** Returns fixed synthetic images, scaled like the input of the model. */
export function fixedInputs(net: PackNet): Float32Array[] {
  const shape = inputShape(net);
  const [, , height, width] = shape as [number, number, number, number];
  const plane = height * width;
  return seeds.map((seed) =>
    syntheticImage(shape, seed).map((byte, i) => (byte - meanOf(net, Math.floor(i / plane))) * net.scale),
  );
}

/** Returns the mean of one plane of the model's input. */
export function meanOf({ mean }: PackNet, plane: number): number {
  return typeof mean === 'number' ? mean : mean[plane]!;
}

function requireSame(net: PackNet, difference: ReturnType<typeof differenceOf>): void {
  const isInt8 = 'int8' in net && net.int8 !== undefined;
  const allowed = isInt8 ? forInt8 : net.family === 'arcface' ? forEmbedders : byDefault;
  // The condition is negated so that NaN fails too.
  const same =
    'min_cosine' in allowed
      ? difference.cosine >= allowed.min_cosine
      : difference.max_error <= allowed.max_error;
  if (same) return;
  throw new Error(
    `The outputs of the rewritten ${net.file} differ from those of ${net.from}: cosine ${difference.cosine}, ` +
      `largest difference ${difference.max_error}, allowed ${JSON.stringify(allowed)}`,
  );
}

/** Resolves to the differences between the outputs of two models: one entry for each input and output. */
export async function compareNets(
  inputName: string,
  shape: number[],
  original: Uint8Array,
  rewritten: Uint8Array,
  inputs: Float32Array[],
) {
  // Makes integer sums exact on every CPU, like native/core/runtime/onnx_runtime.cpp.
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

/** Returns an output of the rewritten model. Decodes the boxes if the model outputs offsets. */
function outputOf(
  outputs: InferenceSession.OnnxValueMapType,
  name: string,
  [, , height, width]: number[],
): Float32Array | undefined {
  const unchanged = outputs[name]?.data as Float32Array | undefined;
  const offsets = outputs[offsetsOutput]?.data as Float32Array | undefined;
  return unchanged ?? (offsets && cornersOf(offsets, width!, height!));
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

/** Returns the input shape of a model: batch, channels, height, width. */
export function inputShape(net: PackNet): number[] {
  const channels = net.channels === 'grey' ? 1 : 3;
  return 'size' in net ? [1, channels, net.size, net.size] : [1, channels, net.height, net.width];
}
