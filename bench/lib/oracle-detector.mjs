// The default pack's detector as ours runs it, once more in JavaScript: on an input no larger than the picture fills, with
// its boxes decoded out of the offsets from Ultra-Light's priors.
import { least_score, suppress } from '../contenders/nets/detector.mjs';
import { run } from '../contenders/nets/sessions.mjs';
import * as pixels from '../contenders/opencv4nodejs/pixels.mjs';

const whole = [320, 240];
const [least_frame, frame_step] = [64, 8];
const grids = [
  [8, [10, 16, 24]],
  [16, [32, 48]],
  [32, [64, 96]],
  [64, [128, 192, 256]],
];

const cells = (side, stride) => Math.ceil(side / stride);

/** The top left of three planes. */
function cropped(planes, [width, height]) {
  const part = new Float32Array(3 * width * height);
  for (let row = 0; row < 3 * height; row++) {
    const from = (Math.floor(row / height) * whole[1] + (row % height)) * whole[0];
    part.set(planes.subarray(from, from + width), row * width);
  }
  return part;
}

/** Middle and sides of each prior, in the order of the outputs. */
function* priors(frame) {
  for (const [stride, sides] of grids) {
    const step = whole.map((side) => side / cells(side, stride));
    for (let y = 0; y < cells(frame[1], stride); y++) {
      for (let x = 0; x < cells(frame[0], stride); x++) {
        const middle = [(x + 0.5) * step[0], (y + 0.5) * step[1]];
        for (const side of sides) yield { middle, sides: whole.map((most) => Math.min(side, most)) };
      }
    }
  }
}

/** Faces in pixels of the picture, best first. */
export async function detect(session, picture) {
  // Ours does not round what the detector is shown.
  const boxed = pixels.letterbox(picture, ...whole, { mean: 127, scale: 1 / 128 }, true);
  const frame = [picture.width, picture.height].map((side, axis) => {
    const filled = Math.max(Math.round(side * boxed.scales[axis]), least_frame);
    return Math.min(whole[axis], Math.ceil(filled / frame_step) * frame_step);
  });
  const { scores, offsets } = await run(session, [1, 3, frame[1], frame[0]], cropped(boxed.planes, frame));
  const faces = [];
  let i = -1;
  for (const { middle, sides } of priors(frame)) {
    i += 1;
    const score = scores[2 * i + 1];
    if (score < least_score) continue;
    const size = [0, 1].map((axis) => Math.exp(offsets[4 * i + 2 + axis] * 0.2) * sides[axis]);
    const [x, y] = [0, 1].map(
      (axis) => middle[axis] + offsets[4 * i + axis] * 0.1 * sides[axis] - size[axis] / 2,
    );
    const [across, down] = boxed.scales;
    faces.push({ x: x / across, y: y / down, width: size[0] / across, height: size[1] / down, score });
  }
  return suppress(faces);
}
