// Runs the published models of the default pack (detector, landmarks, embedder) on onnxruntime-node, with the steps
// of mode fast: from an image to the embedding of its largest face. The module `pixels` decodes, resizes and warps;
// it exports decode(bytes), letterbox, greyCrop, colourCrop and release(image).
import { workerData } from 'node:worker_threads';
import ort from 'onnxruntime-node';
import { apply, fit, intersectionOverUnion, inverse, mean, squareCrop } from '../lib/geometry.mjs';
import { published } from '../lib/setup.mjs';

// ---- sessions

/** One thread per session, because two workers already use both CPUs. */
const sessionOptions = {
  executionProviders: ['cpu'],
  graphOptimizationLevel: 'all',
  executionMode: 'sequential',
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  // Hides a warning for each weight that the exporter also listed as an input.
  logSeverityLevel: 3,
};

async function openNets() {
  const opened = Object.entries(published).map(async ([name, file]) => [
    name,
    await ort.InferenceSession.create(file, sessionOptions),
  ]);
  return Object.fromEntries(await Promise.all(opened));
}

/** Runs a model with one input, and resolves to its outputs by name. */
async function run(session, shape, planes) {
  const outputs = await session.run({ input: new ort.Tensor('float32', planes, shape) });
  return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, data]));
}

// ---- detector RFB-320: face boxes in image pixels

const [input_width, input_height] = [320, 240];
const min_score = 0.7;
const max_overlap = 0.4;

function nonMaxSuppression(faces) {
  const kept = [];
  for (const face of faces.sort((a, b) => b.score - a.score)) {
    if (!kept.some((other) => intersectionOverUnion(other, face) > max_overlap)) kept.push(face);
  }
  return kept;
}

/**
 * Resolves to the faces, the highest score first. `pixels.letterbox` keeps the aspect ratio, fills the rest of the
 * input with black, and returns the scale of each axis.
 */
async function detect(session, pixels, image) {
  const { planes, scales } = pixels.letterbox(image, input_width, input_height, {
    mean: 127,
    scale: 1 / 128,
  });
  const { scores, boxes } = await run(session, [1, 3, input_height, input_width], planes);
  const [across, down] = [input_width / scales[0], input_height / scales[1]];
  const faces = [];
  for (let i = 0; i < scores.length / 2; i++) {
    const score = scores[2 * i + 1];
    if (score < min_score) continue;
    const [left, top, right, bottom] = boxes.subarray(4 * i, 4 * i + 4);
    const [x, y] = [left * across, top * down];
    faces.push({ x, y, width: right * across - x, height: bottom * down - y, score });
  }
  return nonMaxSuppression(faces);
}

// ---- landmark model: 68 points, from which alignment computes five

const landmark_side = 64;
/** Side of the crop divided by the longer side of the box. */
const crop = 1.1;
/** Above this roll, the landmarks are predicted again on an upright crop. */
const upright_degrees = 6;

async function predict(session, pixels, image, transform) {
  const planes = pixels.greyCrop(image, transform, landmark_side, { mean: 0, scale: 1 / 256 });
  const { output } = await run(session, [1, 1, landmark_side, landmark_side], planes);
  const back = inverse(transform);
  const points = Array.from({ length: 68 }, (_item, i) =>
    apply(back, [output[2 * i] * landmark_side, output[2 * i + 1] * landmark_side]),
  );
  return [mean(points.slice(36, 42)), mean(points.slice(42, 48)), points[30], points[48], points[54]];
}

/** Returns the clockwise angle of the line from the right eye to the left eye, in degrees. */
function rollOf([right, left]) {
  return (Math.atan2(left[1] - right[1], left[0] - right[0]) * 180) / Math.PI;
}

/** Resolves to the right eye, left eye, nose, and right and left mouth corner, in pixels of the image. */
async function fivePoints(session, pixels, image, face) {
  const centre = [face.x + face.width / 2, face.y + face.height / 2];
  const side = Math.max(face.width, face.height) * crop;
  const first = await predict(session, pixels, image, squareCrop(centre, side, 0, landmark_side));
  const roll = rollOf(first);
  if (Math.abs(roll) <= upright_degrees) return first;
  return predict(session, pixels, image, squareCrop(centre, side, roll, landmark_side));
}

// ---- embedder MobileFaceNet: from an aligned face to a unit vector of 512 numbers

const aligned_side = 112;

/** ArcFace's positions of eyes, nose and mouth in the aligned face. */
const template = [
  [38.2946, 51.6963],
  [73.5318, 51.5014],
  [56.0252, 71.7366],
  [41.5493, 92.3655],
  [70.7299, 92.2041],
];

function unit(vector) {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const scale = 1 / Math.sqrt(sum);
  return vector.map((value) => value * scale);
}

async function embed(session, pixels, image, points) {
  const planes = pixels.colourCrop(image, fit(points, template), aligned_side, { mean: 127, scale: 1 / 128 });
  const { output } = await run(session, [1, 3, aligned_side, aligned_side], planes);
  return unit(output);
}

// ---- complete pipeline

/** Resolves to a function from { bytes } to { embedding }, or to {} without a face. */
export async function recogniser(pixels) {
  const nets = await openNets();
  return async ({ bytes }) => {
    const image = await pixels.decode(bytes);
    try {
      const faces = await detect(nets.detector, pixels, image);
      const [face] = faces.sort((a, b) => b.width * b.height * b.score - a.width * a.height * a.score);
      if (face === undefined) return {};
      const points = await fivePoints(nets.landmarks, pixels, image, face);
      return { embedding: await embed(nets.embedder, pixels, image, points) };
    } finally {
      pixels.release(image);
    }
  };
}

export default workerData?.pixels ? await recogniser(await import(workerData.pixels)) : undefined;
