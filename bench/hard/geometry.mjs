// Boxes and points, and how a variant of a picture moves them. A move is { a, b, tx, ty }, as in native/core/geometry.h:
// (x, y) becomes (a x - b y + tx, b x + a y + ty).

export const still = { a: 1, b: 0, tx: 0, ty: 0 };

export function movePoint({ a, b, tx, ty }, [x, y]) {
  return [a * x - b * y + tx, b * x + a * y + ty];
}

/** The box of the same face; between 0 and 90 degrees width and height change gradually into one another. */
export function moveBox(move, { x, y, width, height }) {
  const [middle, centre] = movePoint(move, [x + width / 2, y + height / 2]);
  const [straight, across] = [move.a ** 2, move.b ** 2];
  const scale = Math.hypot(move.a, move.b);
  const moved = {
    width: (width * straight + height * across) / scale,
    height: (width * across + height * straight) / scale,
  };
  return { x: middle - moved.width / 2, y: centre - moved.height / 2, ...moved };
}

export function moveFace(move, { box, landmarks }) {
  const points = Object.entries(landmarks).map(([name, point]) => [name, movePoint(move, point)]);
  return { box: moveBox(move, box), landmarks: Object.fromEntries(points) };
}

/** The part of a box that is inside the picture. */
export function clipped({ x, y, width, height }, picture) {
  const [left, top] = [Math.max(x, 0), Math.max(y, 0)];
  const [right, bottom] = [Math.min(x + width, picture.width), Math.min(y + height, picture.height)];
  return { x: left, y: top, width: right - left, height: bottom - top };
}

export function intersectionOverUnion(a, b) {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (a.width * a.height + b.width * b.height - shared);
}

/** The largest distance of a landmark of one face from the other's, in pixels. */
export function landmarkDistance(a, b) {
  return Math.max(
    ...Object.keys(a.landmarks).map((name) =>
      Math.hypot(a.landmarks[name][0] - b.landmarks[name][0], a.landmarks[name][1] - b.landmarks[name][1]),
    ),
  );
}

/** The same face: an intersection over union of at least half within the picture, and no landmark further off than a tenth of the box. */
export function sameFace(found, expected, picture) {
  const { width, height } = expected.box;
  return (
    intersectionOverUnion(clipped(found.box, picture), clipped(expected.box, picture)) >= 0.5 &&
    landmarkDistance(found, expected) <= 0.1 * Math.max(width, height)
  );
}
