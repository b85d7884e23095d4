// 68 landmarks of a face, of which alignment needs five points.
import { run } from './sessions.mjs';
import { apply, inverse, squareCrop } from './similarity.mjs';

const size = 64;
/** Side of the crop over the longer side of the box. */
const crop = 1.1;
/** A face that leans more is turned upright and looked at again. */
const upright_degrees = 6;

function mean(points, first, last) {
  const some = points.slice(first, last + 1);
  return [0, 1].map((axis) => some.reduce((sum, point) => sum + point[axis], 0) / some.length);
}

async function look(session, pixels, picture, transform) {
  const planes = pixels.greyCrop(picture, transform, size, { mean: 0, scale: 1 / 256 });
  const { output } = await run(session, [1, 1, size, size], planes);
  const back = inverse(transform);
  const points = Array.from({ length: 68 }, (_, i) =>
    apply(back, [output[2 * i] * size, output[2 * i + 1] * size]),
  );
  return [mean(points, 36, 41), mean(points, 42, 47), points[30], points[48], points[54]];
}

/** Angle of the line from the right eye to the left, degrees, clockwise. */
export function leanOf([right, left]) {
  return (Math.atan2(left[1] - right[1], left[0] - right[0]) * 180) / Math.PI;
}

/** Right eye, left eye, nose, right and left corner of the mouth, in pixels of the picture. */
export async function fivePoints(session, pixels, picture, face, mode) {
  const centre = [face.x + face.width / 2, face.y + face.height / 2];
  const side = Math.max(face.width, face.height) * crop;
  const first = await look(session, pixels, picture, squareCrop(centre, side, 0, size));
  const lean = leanOf(first);
  if (mode === 'fast' && Math.abs(lean) <= upright_degrees) return first;
  return look(session, pixels, picture, squareCrop(centre, side, lean, size));
}
