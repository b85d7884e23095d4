import { describe, expect, test } from 'vitest';
import { allSequences } from '../../src/auth/challenges.ts';
import {
  type FramePair,
  judgeMotion,
  type MotionFrame,
  motionThresholds,
  type Step,
} from '../../src/scoring/motion.ts';

/** Tests the decision of a live check on sequences of poses. */

const { step_yaw, step_pitch, agreement } = motionThresholds;
const turns: Record<Step, readonly [yaw: number, pitch: number]> = {
  left: [1, 0],
  right: [-1, 0],
  up: [0, 1],
  down: [0, -1],
};

/**
 * Returns a frame with this pose and points that differ slightly from frame to frame, like those of a camera.
 */
function frameOf([yaw, pitch]: readonly [number, number], index: number): MotionFrame {
  const jitter = (i: number) => Math.sin(7 * index + i) / 2;
  return {
    pose: { yaw, pitch },
    box: { x: 200 + yaw / 2, y: 100 + pitch / 2, width: 150, height: 180 },
    points: [0, 1, 2, 3, 4].map((i) => [230 + 20 * i + jitter(i), 150 + 15 * i + jitter(i + 5)]),
    stretch: 1.05,
    other_face: 0,
  };
}

/**
 * Returns frames of a head that looks straight twice, and then makes each step: partly, fully twice, back, straight.
 * `strength`: amplitude as a multiple of the limit.
 */
function show(steps: readonly Step[], strength = 1.2): MotionFrame[] {
  const poses: [number, number][] = [
    [0, -2],
    [0, -2],
  ];
  for (const step of steps) {
    const [across, along] = turns[step];
    const at = (share: number): [number, number] => [
      across * share * strength * step_yaw,
      along * share * strength * step_pitch - 2,
    ];
    poses.push(at(0.72), at(1), at(1), at(0.72), [0, -2]);
  }
  return poses.map(frameOf);
}

const same = (): FramePair => ({ percent: 95, cosine: 0.8 });
const judge = (frames: readonly MotionFrame[], steps: readonly Step[], compare = same) =>
  judgeMotion(frames, steps, compare);

describe('a head that moves as requested', () => {
  test.each(
    [1, 2, 3].flatMap((length) => allSequences(length)).map((steps) => [steps.join(', '), steps] as const),
  )('passes: %s', (_name, steps) => {
    const { live, reasons, steps: found, neutral } = judge(show(steps), steps);
    expect({ live, reasons }).toEqual({ live: true, reasons: [] });
    expect(found.map(({ step, passed }) => [step, passed])).toEqual(steps.map((step) => [step, true]));
    for (const [i, { frame }] of found.entries()) expect(frame).toBe(3 + 5 * i);
    expect(neutral).toEqual([0, 1, ...steps.map((_, i) => 6 + 5 * i)]);
  });

  test('is measured relative to its first pose', () => {
    const [step] = judge(show(['left', 'up']), ['left', 'up']).steps;
    expect(step!.yaw_change).toBeCloseTo(1.2 * step_yaw, 6);
    expect(step!.pitch_change).toBeCloseTo(0, 6);
  });

  test.each([
    [[1.05, 1.05], []],
    [[1.05, 0.9, 1.05], []],
    [[1.4], ['step_missing']],
    [[1.4, 0.9, 0.95], ['step_missing']],
    [[1.05, 0.5, 1.05], ['step_missing']],
  ])('needs two frames beyond the limit of a step, adjacent or not: %j', (shares, reasons) => {
    const frames = [0, 0, 0.5, ...shares, 0.5, 0]
      .map((share) => [0, share * step_pitch] as const)
      .map(frameOf);
    expect(judge(frames, ['up']).reasons).toEqual(reasons);
  });

  test.each([
    [[0, 0, 12, 40, 40, 12, 0], []],
    [[0, 0, -12, -40, -40, -12, 0], []],
    [[0, 0, 8, 40, 40, 12, 0], ['motion_jump']],
    [[0, 0, 12, 49, 49, 20, 0], ['motion_jump']],
    [[0, 0, 12, 34, 34, 12, -13], ['motion_jump']],
  ])('may move faster between frames in which it is turned to the same side: %j', (yaws, reasons) => {
    const frames = yaws.map((yaw) => [yaw, 0] as const).map(frameOf);
    expect(judge(frames, [yaws[3]! > 0 ? 'left' : 'right']).reasons).toEqual(reasons);
  });

  test('passes with a single frame only if it is well beyond the limit', () => {
    const frames = (strength: number) => {
      const yaw = strength * step_yaw;
      const poses = [0, 0, yaw * 0.4, yaw * 0.7, yaw, yaw * 0.6, yaw * 0.3].map(
        (value) => [value, 0] as const,
      );
      return poses.map(frameOf);
    };
    expect(judge(frames(1.3), ['left']).reasons).toEqual(['step_missing']);
    expect(judge(frames(1.51), ['left']).reasons).toEqual([]);
  });
});

describe('every other challenge', () => {
  const all = allSequences(2);
  test.each(all.map((steps) => [steps.join(', '), steps] as const))(
    'fails for a sequence that shows %s',
    (_name, shown) => {
      const frames = show(shown);
      const passed = all.filter((asked) => judge(frames, asked).live);
      expect(passed).toEqual([shown]);
      expect(judge(frames.toReversed(), shown).live).toBe(false);
    },
  );

  test('fails for a video with every movement', () => {
    const frames = show(['left', 'up', 'right', 'down']).slice(0, 16);
    expect(all.filter((asked) => judge(frames, asked).live)).toEqual([]);
  });
});

describe('a failed sequence', () => {
  const asked: Step[] = ['left', 'up'];
  const frames = show(asked);
  const changed = (at: number, change: Partial<MotionFrame>) =>
    frames.map((frame, i) => (i === at ? { ...frame, ...change } : frame));
  const box = (change: Partial<MotionFrame['box']>) => ({ box: { ...frames[4]!.box, ...change } });

  test.each<[string, readonly MotionFrame[], string[]]>([
    ['only one step', show(['left']), ['step_missing']],
    ['too small a movement', show(asked, 0.9), ['step_missing']],
    ['the other direction', show(['right', 'up']), ['step_missing', 'wrong_direction']],
    ['the other order', show(['up', 'left']), ['step_missing', 'out_of_order']],
    ['an additional movement', show(['left', 'up', 'right']), ['wrong_direction']],
    ['a repeated step', show(['left', 'up', 'left']), ['out_of_order']],
    ['no frame that looks straight', frames.slice(3), ['no_neutral_frame']],
    ['a face that is foreshortened', frames.map((frame) => ({ ...frame, stretch: 1.3 })), ['step_missing']],
    ['a pose that is left out', frames.toSpliced(2, 1), ['motion_jump']],
    ['a face elsewhere', changed(4, box({ x: 400 })), ['motion_jump']],
    ['a face of another size', changed(4, box({ height: 90 })), ['motion_jump']],
    ['a second face', changed(4, { other_face: 0.9 }), ['several_faces']],
    ['a score that is not a number', changed(4, { other_face: Number.NaN }), ['several_faces']],
  ])('has the expected reasons for %s', (_what, frames, reasons) => {
    const verdict = judge(frames, asked);
    expect(verdict.live).toBe(false);
    expect(verdict.reasons).toEqual(expect.arrayContaining(reasons));
  });

  test('fails for another person in one frame, at any position', () => {
    for (let other = 0; other < frames.length; other++) {
      const compare = (a: number, b: number) => ({
        percent: (a === other) === (b === other) ? 90 : agreement - 1,
        cosine: 0.5,
      });
      const { reasons, agreements } = judgeMotion(frames, asked, compare);
      expect(reasons).toEqual(['identity_changed']);
      expect(agreements[other]).toBe(agreement - 1);
    }
  });

  test('fails if a frame repeats any earlier one', () => {
    for (let first = 0; first < frames.length; first++) {
      for (let second = first + 1; second < frames.length; second++) {
        const { points } = frames[first]!;
        const copy = frames.with(second, { ...frames[second]!, points });
        const compare = (a: number, b: number) => ({
          percent: 95,
          cosine: a === first && b === second ? 1 : 0.9,
        });
        expect(judgeMotion(copy, asked, compare).reasons).toEqual(['repeated_frame']);
      }
    }
  });
});
