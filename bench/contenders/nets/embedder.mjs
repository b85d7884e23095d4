// MobileFaceNet: a face chip becomes a unit vector of 512 numbers.
import { run } from './sessions.mjs';
import { fit } from './similarity.mjs';

const size = 112;

/** Where ArcFace wants eyes, nose and mouth in the chip. */
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

function mirrored(planes) {
  const copy = planes.slice();
  for (let start = 0; start < copy.length; start += size) copy.subarray(start, start + size).reverse();
  return copy;
}

const shape = [1, 3, size, size];

/** In mode balance the chip's mirror image counts as much as the chip. */
export async function embed(session, pixels, picture, points, mode) {
  const planes = pixels.colourCrop(picture, fit(points, template), size, { mean: 127, scale: 1 / 128 });
  const { output } = await run(session, shape, planes);
  const one = unit(output);
  if (mode === 'fast') return one;
  const other = unit((await run(session, shape, mirrored(planes))).output);
  return unit(one.map((value, i) => value + other[i]));
}
