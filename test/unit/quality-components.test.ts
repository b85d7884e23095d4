import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { qualityComponents } from '../../src/scoring/face-quality.ts';

/** A face whose eyes are `distance` pixels apart. */
function faceOf({ distance = 70, yaw = 0, roll = 0 }) {
  const landmarks = {
    right_eye: [0, 0],
    left_eye: [distance, 0],
    nose: [0, 0],
    mouth_right: [0, 0],
    mouth_left: [0, 0],
  };
  return { landmarks, pose: { yaw, pitch: 0, roll } } as Parameters<typeof qualityComponents>[0];
}

describe('quality components', () => {
  test.each([
    [10, 5],
    [70, 50],
    [90, 73],
    [200, 100],
  ])('eyes %d pixels apart have %d', (distance, value) => {
    expect(qualityComponents(faceOf({ distance })).inter_eye_distance).toBe(value);
  });

  test('eyes of a turned head count as far apart as they would be from the front', () => {
    expect(qualityComponents(faceOf({ distance: 35, yaw: 60 })).inter_eye_distance).toBe(50);
  });

  test.each([
    [0, 100],
    [-30, 75],
    [45, 50],
    [90, 0],
    [180, 0],
  ])('%d degrees of yaw or roll have %d', (degrees, value) => {
    const { head_pose_yaw, head_pose_roll } = qualityComponents(faceOf({ yaw: degrees, roll: -degrees }));
    expect([head_pose_yaw, head_pose_roll]).toEqual([value, value]);
  });

  test('are whole numbers from 0 to 100, whatever was measured', () => {
    const angle = fc.double({ min: -180, max: 180, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e5, noNaN: true }), angle, angle, (distance, yaw, roll) => {
        for (const value of Object.values(qualityComponents(faceOf({ distance, yaw, roll }))))
          expect(Number.isInteger(value) && value >= 0 && value <= 100).toBe(true);
      }),
    );
  });

  test('do not rise when the eyes come closer or the head turns further', () => {
    const rising = (max: number) =>
      fc
        .double({ min: 0, max, noNaN: true })
        .chain((low) => fc.tuple(fc.constant(low), fc.double({ min: low, max, noNaN: true })));
    fc.assert(
      fc.property(rising(1e4), rising(180), ([near, far], [less, more]) => {
        const { inter_eye_distance } = qualityComponents(faceOf({ distance: near }));
        expect(inter_eye_distance).toBeLessThanOrEqual(
          qualityComponents(faceOf({ distance: far })).inter_eye_distance,
        );
        const [straight, turned] = [less, more].map((degrees) =>
          qualityComponents(faceOf({ yaw: degrees, roll: -degrees })),
        );
        expect(turned!.head_pose_yaw).toBeLessThanOrEqual(straight!.head_pose_yaw);
        expect(turned!.head_pose_roll).toBeLessThanOrEqual(straight!.head_pose_roll);
      }),
    );
  });
});
