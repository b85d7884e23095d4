import type { Face, Point } from '../../../src/engine/addon.ts';

/** The core's alignment, written anew: landmarks to the template by a similarity, and pixels in between by their four neighbours. */

export interface Pixels {
  data: Buffer;
  width: number;
  height: number;
}

/** Least squares in complex numbers: with z the points and w their places, w ≈ a·z + b. */
function similarity(from: readonly Point[], to: readonly Point[]): { a: Point; b: Point } {
  const mean = (points: readonly Point[]): Point => [
    points.reduce((sum, [x]) => sum + x, 0) / points.length,
    points.reduce((sum, [, y]) => sum + y, 0) / points.length,
  ];
  const [zx, zy] = mean(from);
  const [wx, wy] = mean(to);
  let real = 0;
  let imaginary = 0;
  let norm = 0;
  for (const [i, [x, y]] of from.entries()) {
    const [px, py] = [x - zx, y - zy];
    const [qx, qy] = [to[i]![0] - wx, to[i]![1] - wy];
    real += px * qx + py * qy;
    imaginary += px * qy - py * qx;
    norm += px * px + py * py;
  }
  const a: Point = [real / norm, imaginary / norm];
  return { a, b: [wx - (a[0] * zx - a[1] * zy), wy - (a[1] * zx + a[0] * zy)] };
}

/** The face chip as RGB, channels last. What lies outside of the picture is black. */
export function chipOf(
  picture: Pixels,
  { landmarks }: Face,
  template: readonly Point[],
  size: number,
): Float32Array {
  const { right_eye, left_eye, nose, mouth_right, mouth_left } = landmarks;
  const { a, b } = similarity([right_eye, left_eye, nose, mouth_right, mouth_left], template);
  const norm = a[0] ** 2 + a[1] ** 2;
  const at = (x: number, y: number, channel: number): number =>
    x < 0 || y < 0 || x >= picture.width || y >= picture.height
      ? 0
      : picture.data[3 * (y * picture.width + x) + channel]!;
  return Float32Array.from({ length: size * size * 3 }, (_, i) => {
    const channel = i % 3;
    const pixel = Math.floor(i / 3);
    const u = (pixel % size) - b[0];
    const v = Math.floor(pixel / size) - b[1];
    const x = (a[0] * u + a[1] * v) / norm;
    const y = (a[0] * v - a[1] * u) / norm;
    const [left, top] = [Math.floor(x), Math.floor(y)];
    const [dx, dy] = [x - left, y - top];
    const upper = at(left, top, channel) * (1 - dx) + at(left + 1, top, channel) * dx;
    const lower = at(left, top + 1, channel) * (1 - dx) + at(left + 1, top + 1, channel) * dx;
    return upper * (1 - dy) + lower * dy;
  });
}
