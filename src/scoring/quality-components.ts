import type { Face } from '../engine/addon.ts';

type Measured = Pick<Face, 'landmarks' | 'pose'>;

/**
 * Quality components of ISO/IEC 29794-5, 0 to 100, by the mappings of its reference implementation OFIQ 1.0.3. Not conformant: OFIQ has
 * other landmarks and pose. Why these of its 28: docs/images.md.
 */
export function qualityComponents({ landmarks, pose }: Measured) {
  const [[x1, y1], [x2, y2]] = [landmarks.right_eye, landmarks.left_eye];
  // A turned head foreshortens the distance; beyond some 85 degrees that says nothing any more.
  const distance = Math.hypot(x2 - x1, y2 - y1) / Math.max(0.1, Math.cos(radians(pose.yaw)));
  return {
    inter_eye_distance: Math.round(100 / (1 + Math.exp((70 - distance) / 20))),
    head_pose_yaw: straightness(pose.yaw),
    head_pose_roll: straightness(pose.roll),
  };
}

export function withQualityComponents<F extends Measured>(faces: readonly F[]) {
  return faces.map((face) => ({ ...face, quality_components: qualityComponents(face) }));
}

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** OFIQ's cos² rises again beyond 90 degrees, to 100 for a face that is upside down; here it stays 0. */
const straightness = (degrees: number) => Math.round(100 * Math.max(0, Math.cos(radians(degrees))) ** 2);
