// RFB-320: faces of a picture, in its pixels.
import { run } from './sessions.mjs';

const [width, height] = [320, 240];
export const least_score = 0.7;
const most_overlap = 0.4;

/** Shared area over joint area. */
export function overlap(a, b) {
  const w = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const h = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  if (w <= 0 || h <= 0) return 0;
  const shared = w * h;
  return shared / (a.width * a.height + b.width * b.height - shared);
}

/** Scores this near are one and the same but for rounding. */
const tie = 1e-6;

/** Non-maximum suppression; `ties` of a face are boxes that score the same and would as well have been kept. */
export function suppress(faces) {
  const kept = [];
  for (const face of faces.sort((a, b) => b.score - a.score)) {
    const better = kept.find((other) => overlap(other, face) > most_overlap);
    if (better === undefined) kept.push({ ...face, ties: [] });
    else if (better.score - face.score <= tie) better.ties.push(face);
  }
  return kept;
}

/**
 * Best first. `pixels.letterbox` keeps the picture's shape, fills what is left of the net's input with black, and tells
 * the scale of each side.
 */
export async function detect(session, pixels, picture) {
  const { planes, scales } = pixels.letterbox(picture, width, height, { mean: 127, scale: 1 / 128 });
  const { scores, boxes } = await run(session, [1, 3, height, width], planes);
  const [across, down] = [width / scales[0], height / scales[1]];
  const faces = [];
  for (let i = 0; i < scores.length / 2; i++) {
    const score = scores[2 * i + 1];
    if (score < least_score) continue;
    const [left, top, right, bottom] = boxes.subarray(4 * i, 4 * i + 4);
    const [x, y] = [left * across, top * down];
    faces.push({ x, y, width: right * across - x, height: bottom * down - y, score });
  }
  return suppress(faces);
}
