// A head in space from one photo, by the 468 landmarks with depth of MediaPipe's face mesh (the npm package @vladmandic/human holds the model).
// It serves measurements only.
import { detectFace, loadHuman } from '../lib/human.mjs';

/** Indices of the mesh: tip of the nose, outer corners of the eyes, and all four corners. */
const nose = 1;
const outerCorners = [33, 263];
const corners = [33, 133, 362, 263];

/** Distance of the nose's tip in front of the outer corners of the eyes, in distances between these corners, of MediaPipe's mean face. */
const meanNose = 0.48;

/** Slope of the head beyond the mesh, which ends at the ears and the hairline. */
const fall = 1.1;
const lowest = -3;

const mean = (points, axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;

/**
 * Landmarks of the face in `photo` (RGB: data, width, height) whose eyes are at `eyes`: x to the right, y down, both in distances between
 * the eyes from the middle of them, and depth away from the camera in a unit that is the same for all photos. Undefined where no face is found.
 */
export async function meshFinder() {
  const human = await loadHuman();
  return async (photo, [[rx, ry], [lx, ly]]) => {
    const face = await detectFace(human, photo);
    if (!face || face.mesh.length < 468) return undefined;
    const unit = Math.hypot(lx - rx, ly - ry);
    const [ux, uy] = [(lx - rx) / unit, (ly - ry) / unit];
    const middle = [(rx + lx) / 2, (ry + ly) / 2];
    const points = face.mesh.slice(0, 468).map(([px, py, depth]) => {
      const [dx, dy] = [(px - middle[0]) / unit, (py - middle[1]) / unit];
      return [dx * ux + dy * uy, dy * ux - dx * uy, depth];
    });
    // Points farther away belong to another person in the image.
    const at = corners.map((i) => points[i]);
    return Math.hypot(mean(at, 0), mean(at, 1)) < 0.3 ? points : undefined;
  };
}

/** The factor from the depth of the landmarks to distances between the eyes: that of the mean face for the median of these. */
export function depthScale(meshes) {
  const factors = meshes.map((points) => {
    const outer = outerCorners.map((i) => points[i]);
    const apart = Math.hypot(outer[0][0] - outer[1][0], outer[0][1] - outer[1][1]);
    return (meanNose * apart) / (mean(outer, 2) - points[nose][2]);
  });
  return factors.toSorted((a, b) => a - b)[Math.floor(factors.length / 2)];
}

/** The head as a surface of test/support/surface.mjs. */
export function denseHead(points, scale) {
  const eyes = mean(
    corners.map((i) => points[i]),
    2,
  );
  const known = new Map();
  const depthAt = (x, y) => {
    let [sum, weights, nearest] = [0, 0, Number.POSITIVE_INFINITY];
    for (const [px, py, depth] of points) {
      const squared = (px - x) ** 2 + (py - y) ** 2;
      nearest = Math.min(nearest, squared);
      const weight = 1 / (squared + 4e-4) ** 2;
      sum += weight * depth;
      weights += weight;
    }
    const beyond = Math.max(0, Math.sqrt(nearest) - 0.15);
    return Math.max(lowest, scale * (eyes - sum / weights) - fall * beyond);
  };
  return (x, y) => {
    const key = `${x},${y}`;
    const depth = known.get(key) ?? depthAt(x, y);
    known.set(key, depth);
    return [x, y, depth];
  };
}
