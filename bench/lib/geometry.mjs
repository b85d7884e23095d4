// Functions for similarity transforms (rotation, scale and shift), boxes and faces. A transform is { a, b, tx, ty },
// as in native/core/image/geometry.h: x' = a·x − b·y + tx, y' = b·x + a·y + ty.

export const still = { a: 1, b: 0, tx: 0, ty: 0 };

/** Returns the mean of points. */
export const mean = (points) =>
  [0, 1].map((axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length);

export const apply = ({ a, b, tx, ty }, [x, y]) => [a * x - b * y + tx, b * x + a * y + ty];

export function inverse({ a, b, tx, ty }) {
  const norm = a * a + b * b;
  const [ia, ib] = [a / norm, -b / norm];
  return { a: ia, b: ib, tx: -(ia * tx - ib * ty), ty: -(ib * tx + ia * ty) };
}

/** Returns the least-squares similarity (Umeyama 1991, closed form in two dimensions). */
export function fit(from, to) {
  const [fx, fy] = mean(from);
  const [tx, ty] = mean(to);
  let [dot, cross, norm] = [0, 0, 0];
  for (let i = 0; i < from.length; i++) {
    const [px, py] = [from[i][0] - fx, from[i][1] - fy];
    const [qx, qy] = [to[i][0] - tx, to[i][1] - ty];
    dot += px * qx + py * qy;
    cross += px * qy - py * qx;
    norm += px * px + py * py;
  }
  const [a, b] = [dot / norm, cross / norm];
  return { a, b, tx: tx - (a * fx - b * fy), ty: ty - (b * fx + a * fy) };
}

/** Returns the transform from a square around a centre, rotated by `degrees`, to `size` × `size` pixels. */
export function squareCrop([cx, cy], side, degrees, size) {
  const scale = size / side;
  const radians = (degrees * Math.PI) / 180;
  const [a, b] = [scale * Math.cos(radians), -scale * Math.sin(radians)];
  return { a, b, tx: size / 2 - (a * cx - b * cy), ty: size / 2 - (b * cx + a * cy) };
}

/** Returns the moved box. A rotation by 90 degrees exchanges width and height; smaller angles interpolate. */
function moveBox(move, { x, y, width, height }) {
  const [cx, cy] = apply(move, [x + width / 2, y + height / 2]);
  const [straight, across] = [move.a ** 2, move.b ** 2];
  const scale = Math.hypot(move.a, move.b);
  const moved = {
    width: (width * straight + height * across) / scale,
    height: (width * across + height * straight) / scale,
  };
  return { x: cx - moved.width / 2, y: cy - moved.height / 2, ...moved };
}

export function moveFace(move, { box, landmarks }) {
  const points = Object.entries(landmarks).map(([name, point]) => [name, apply(move, point)]);
  return { box: moveBox(move, box), landmarks: Object.fromEntries(points) };
}

/** Returns the part of a box that is inside the image. */
function clipped({ x, y, width, height }, image) {
  const [left, top] = [Math.max(x, 0), Math.max(y, 0)];
  const [right, bottom] = [Math.min(x + width, image.width), Math.min(y + height, image.height)];
  return { x: left, y: top, width: right - left, height: bottom - top };
}

export function intersectionOverUnion(a, b) {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (a.width * a.height + b.width * b.height - shared);
}

/** Returns the maximum distance between corresponding landmarks of two faces, in pixels. */
export function landmarkDistance(a, b) {
  return Math.max(
    ...Object.keys(a.landmarks).map((name) =>
      Math.hypot(a.landmarks[name][0] - b.landmarks[name][0], a.landmarks[name][1] - b.landmarks[name][1]),
    ),
  );
}

/**
 * Returns true if two faces have an intersection over union of at least 0.5 within the image, and a landmark distance
 * of at most a tenth of the box.
 */
export function sameFace(found, expected, image) {
  const { width, height } = expected.box;
  return (
    intersectionOverUnion(clipped(found.box, image), clipped(expected.box, image)) >= 0.5 &&
    landmarkDistance(found, expected) <= 0.1 * Math.max(width, height)
  );
}
