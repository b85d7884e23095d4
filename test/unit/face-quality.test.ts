import { describe, expect, test } from 'vitest';
import { qualityComponents } from '../../src/endpoints/face.ts';
import { lowQuality, qualityLimits, rejectionOfFaces } from '../../src/endpoints/face-quality.ts';
import { without } from '../support/without.mjs';

const good = {
  occlusion_score: -5,
  pose: { yaw: 3, pitch: -5, roll: 2 },
  quality: { sharpness: 0.66, brightness: 0.5, face_pixels: 120, dot_pitch_px: 0, stretch_ratio: 1.05 },
};

type Member = keyof typeof good.pose | keyof typeof good.quality | 'occlusion_score';

function face(member: string, value: number): typeof good {
  const copy = structuredClone(good);
  if (member === 'occlusion_score') copy.occlusion_score = value;
  else if (member in copy.pose) copy.pose[member as keyof typeof copy.pose] = value;
  else copy.quality[member as keyof typeof copy.quality] = value;
  return copy;
}

const reasons = (judged: Parameters<typeof lowQuality>[1]) =>
  lowQuality('image1', judged).map(({ reason }) => reason);

describe('lowQuality', () => {
  // Each step is the resolution of the member in a response.
  const steps: Record<Member, number> = {
    face_pixels: 1,
    sharpness: 0.01,
    brightness: 0.01,
    yaw: 0.1,
    pitch: 0.1,
    roll: 0.1,
    occlusion_score: 0.1,
    dot_pitch_px: 0.1,
    stretch_ratio: 0.01,
  };

  test.each(qualityLimits)('warns that a face is $reason only past the limit of $member', (limit) => {
    const { reason, member, min, max } = limit;
    const edge = min ?? max!;
    const past = edge + (min === undefined ? 1 : -1) * steps[member as Member];
    expect(reasons(face(member, edge))).toEqual([]);
    expect(reasons(face(member, past))).toEqual([reason]);
  });

  const unknown = without(good, 'occlusion_score') as typeof good;
  const poorQuality = {
    occlusion_score: 3,
    pose: { yaw: 70, pitch: 0, roll: 0 },
    quality: { sharpness: 0, brightness: 1, face_pixels: 1, dot_pitch_px: 3, stretch_ratio: 1.5 },
  };
  // Roll is corrected, and darkness and pitch affect too few matches for a warning.
  test.each([
    ['turned to either side', [face('yaw', 60), face('yaw', -60)], ['turned']],
    ['leaning', [-180, -90, 45, 179.9].map((roll) => face('roll', roll)), []],
    ['dark, or looking up or down', [face('brightness', 0.03), face('pitch', 40), face('pitch', -40)], []],
    ['from a pack without an occlusion score', [unknown], []],
    // The stretch of a turned face is unknown.
    [
      'poor for several reasons',
      [poorQuality],
      ['small', 'blurred', 'bright', 'turned', 'occluded', 'printed'],
    ],
  ])('returns the expected warnings for a face: %s', (_what, faces, expected) => {
    for (const one of faces) expect(reasons(one)).toEqual(expected);
  });

  test('states the image, the value, the limit and a fix for a face', () => {
    const [warning] = lowQuality('image2', face('face_pixels', 31));
    expect(warning).toEqual({
      code: 'low_quality_face',
      field: 'image2',
      reason: 'small',
      detail: expect.stringMatching(
        /^The face compared in image2 is too small: its face_pixels is 31; below \d+ pixels .*\. Send a larger image.*\.$/,
      ),
    });
  });
});

describe('rejectionOfFaces', () => {
  const rejecting = { reject_low_quality: true, reject_presentation_attack: true, live_threshold: 0.4 };
  const [bright, small] = [face('brightness', 1), face('face_pixels', 1)];
  const poorQuality = [
    ...lowQuality('image1', { ...bright, quality: { ...bright.quality, face_pixels: 1 } }),
    ...lowQuality('image2', small),
  ];
  const asked = [0.4, 0.399, undefined].map((live_score, index) => ({
    ...{ field: `image${index}`, face: { index, ...(live_score === undefined ? {} : { live_score }) } },
  }));

  test('rejects faces below the live threshold if requested, but no face without a score', () => {
    const other = { ...rejecting, reject_low_quality: false };
    expect(
      rejectionOfFaces({ ...other, reject_presentation_attack: false }, poorQuality, asked),
    ).toBeUndefined();
    expect(rejectionOfFaces(rejecting, [{ code: 'unknown_field' }], [asked[0]!, asked[2]!])).toBeUndefined();
    expect(rejectionOfFaces(other, poorQuality, asked)?.extras.errors).toEqual([
      { field: 'image1', face_index: 1, live_score: 0.399 },
    ]);
  });

  test('lists each image once, with its reasons, and the fixes of all warnings', () => {
    const problem = rejectionOfFaces(rejecting, poorQuality, []);
    const both = { field: 'image1', reasons: ['small', 'bright'] };
    expect(problem?.extras.errors).toEqual([both, { field: 'image2', reasons: ['small'] }]);
    for (const { detail } of poorQuality) expect(problem?.extras.detail).toContain(detail);
  });
});

describe('qualityComponents', () => {
  /** Returns the components of a face whose eyes are `distance` pixels apart. */
  function componentsOf({ distance = 70, yaw = 0, roll = 0 }) {
    const landmarks = { right_eye: [0, 0], left_eye: [distance, 0] };
    const turned = { landmarks, pose: { yaw, pitch: 0, roll } };
    return qualityComponents(turned as Parameters<typeof qualityComponents>[0]);
  }

  test.each([
    [{ distance: 10 }, { inter_eye_distance: 5 }],
    [{ distance: 70 }, { inter_eye_distance: 50, head_pose_yaw: 100, head_pose_roll: 100 }],
    [{ distance: 90 }, { inter_eye_distance: 73 }],
    [{ distance: 200 }, { inter_eye_distance: 100 }],
    // The distance is corrected to that of a frontal face.
    [{ distance: 35, yaw: 60 }, { inter_eye_distance: 50 }],
    [{ yaw: -30 }, { head_pose_yaw: 75 }],
    [{ yaw: 90 }, { head_pose_yaw: 0 }],
    [{ roll: 45 }, { head_pose_roll: 50 }],
    [{ roll: 180 }, { head_pose_roll: 0 }],
  ])('returns quality components for %j: %j', (given, expected) => {
    expect(componentsOf(given)).toMatchObject(expected);
  });
});
