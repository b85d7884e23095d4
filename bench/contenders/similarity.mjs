// Similarity transforms: rotation, scale and shift, x' = a·x − b·y + tx, y' = b·x + a·y + ty.

/** Mean of points. */
export const mean = (points) =>
  [0, 1].map((axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length);

export const apply = ({ a, b, tx, ty }, [x, y]) => [a * x - b * y + tx, b * x + a * y + ty];

export function inverse({ a, b, tx, ty }) {
  const norm = a * a + b * b;
  const [ia, ib] = [a / norm, -b / norm];
  return { a: ia, b: ib, tx: -(ia * tx - ib * ty), ty: -(ib * tx + ia * ty) };
}

/** The least-squares similarity (Umeyama 1991, closed form in two dimensions). */
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

/** Maps a square of the picture around a centre, rotated by `degrees`, to `size` × `size` pixels. */
export function squareCrop([cx, cy], side, degrees, size) {
  const scale = size / side;
  const radians = (degrees * Math.PI) / 180;
  const [a, b] = [scale * Math.cos(radians), -scale * Math.sin(radians)];
  return { a, b, tx: size / 2 - (a * cx - b * cy), ty: size / 2 - (b * cx + a * cy) };
}
