// Computes a three-dimensional head from one photo, with the 468 landmarks of MediaPipe's face mesh. The model is in
// the npm package @vladmandic/human. The server does not use this module.
import { detectFace, loadHuman } from '../lib/human.mjs';

/** Indices in the mesh: tip of the nose, outer corners of the eyes, and all four eye corners. */
const nose = 1;
const outerCorners = [33, 263];
const corners = [33, 133, 362, 263];

/** Depth of the nose tip in MediaPipe's mean face, relative to the distance between the outer eye corners. */
const meanNose = 0.48;

/** Slope of the head outside the mesh, which ends at the ears and the hairline. */
const outerSlope = 1.1;
const minDepth = -3;

const mean = (points, axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;

/**
 * Resolves to a function that finds the landmarks [x, y, depth] of the face with these eyes in an RGB photo. x points
 * right and y down, from the midpoint of the eyes, in eye distances. Depth points away from the camera, in a unit
 * that is the same for all photos. The function resolves to undefined if it finds no such face.
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
    // A larger offset means that the mesh belongs to another person in the image.
    const at = corners.map((i) => points[i]);
    return Math.hypot(mean(at, 0), mean(at, 1)) < 0.3 ? points : undefined;
  };
}

/**
 * Returns the factor from the mesh's depth unit to eye distances, so that the median nose depth equals the
 * depth in the mean face.
 */
export function depthScale(meshes) {
  const factors = meshes.map((points) => {
    const outer = outerCorners.map((i) => points[i]);
    const distance = Math.hypot(outer[0][0] - outer[1][0], outer[0][1] - outer[1][1]);
    return (meanNose * distance) / (mean(outer, 2) - points[nose][2]);
  });
  return factors.toSorted((a, b) => a - b)[Math.floor(factors.length / 2)];
}

/** Returns the head as a surface for test/support/surface.mjs. */
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
    return Math.max(minDepth, scale * (eyes - sum / weights) - outerSlope * beyond);
  };
  return (x, y) => {
    const key = `${x},${y}`;
    const depth = known.get(key) ?? depthAt(x, y);
    known.set(key, depth);
    return [x, y, depth];
  };
}
