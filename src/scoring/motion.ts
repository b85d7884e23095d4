/** Decides whether the head in a sequence of frames made the movements of a challenge. */

/** Movements of a challenge. Left and right are the person's own. */
export const steps = ['left', 'right', 'up', 'down'] as const;
export type Step = (typeof steps)[number];

/** Reasons why a sequence is not live, in the order in which responses list them. */
export const liveReasons = [
  'no_neutral_frame',
  'step_missing',
  'wrong_direction',
  'out_of_order',
  'identity_changed',
  'motion_jump',
  'several_faces',
  'repeated_frame',
] as const;
export type LiveReason = (typeof liveReasons)[number];

/** Number of frames in a sequence. */
export const frameLimits = { min: 6, max: 16 } as const;

type Point = readonly [x: number, y: number];

/** Measurements of one frame. Angles are in degrees, coordinates in pixels. */
export interface MotionFrame {
  pose: { yaw: number; pitch: number };
  box: { x: number; y: number; width: number; height: number };
  /** The landmarks, in the same order in every frame. */
  points: readonly Point[];
  /** `quality.stretch_ratio` of the face. */
  stretch: number;
  /** Area of the second-largest face divided by the area of the largest; 0 if there is only one face. */
  other_face: number;
}

/**
 * The thresholds of the decision, each with the measurements on which it is based. "Prints" are 70 sequences of
 * printed photos of 7 people, held still, turned and bent by hand. "Still frames" are 16 frontal sequences of the
 * same people, live (NUAA, 10 frames each). "Photos" are 1,128 photos of 150 people (CelebA).
 * docs/research/liveness.md has the error rates with these thresholds.
 */
export const motionThresholds = {
  /**
   * Maximum angles of the first frame. Still frames have at most 10 degrees of yaw and 12 of pitch, photos of people
   * who look into the camera at most 15 and 20.
   */
  neutral_yaw: 15,
  neutral_pitch: 20,
  /**
   * Maximum change from the baseline in a frontal frame. Still frames change by at most 7.5 and 9.7, and 99 % of them
   * by less than 7.2 and 8.6.
   */
  still_yaw: 9,
  still_pitch: 9,
  /**
   * Minimum change of a step. Prints change by at most 9.3 and 5.6, still frames by at most 7.5 and 9.7. The pitch
   * of still frames varies by 1.8 from frame to frame.
   */
  step_yaw: 25,
  step_pitch: 11,
  /**
   * Maximum stretch of a face that shows a step. A print that is bent about the vertical axis and tilted changes its
   * pose about both axes, but its face is foreshortened. In simulation its stretch is 1.16 to 1.53. Photos of heads
   * turned by 25 to 45 degrees have at most 1.16. Photos of lifted or lowered heads have at most 1.24, and 95 % of
   * them at most 1.15.
   */
  step_stretch: 1.2,
  /** Minimum change of a step that only one frame shows, as a multiple of the step's threshold. */
  alone: 1.5,
  /**
   * Maximum ratio of the change on the other axis to the change on the step's axis, both in multiples of their
   * thresholds. Above it, the direction is ambiguous.
   */
  other_axis: 0.8,
  /**
   * Maximum change between two frames. A head that turns by 100 degrees per second changes by 20 degrees between
   * frames at 5 frames per second. Still frames change by at most 9.0 and 14.3, and 99 % of them by less than 7.5
   * and 12.7. Simulated heads (51 studio portraits) that are lifted by 9 degrees per frame change by at most 13, so
   * heads that are lifted by 14 pass. The threshold of the yaw is below that of a step, so that an attacker cannot
   * swap a frontal photo for a turned photo.
   */
  jump_yaw: 24,
  jump_pitch: 20,
  /**
   * Maximum change of the yaw between two frames that are turned to the same side. It is larger than `jump_yaw`,
   * because the engine overestimates yaw beyond 20 degrees, which also amplifies its noise. Simulated heads that
   * turn by 12 degrees per frame change by at most 29, so heads that turn by 15 pass.
   */
  jump_turned: 36,
  /**
   * Maximum shift of the face between two frames, in face widths, and maximum ratio of its heights. Still frames
   * have at most 0.5 and 1.19.
   */
  jump_shift: 0.6,
  jump_size: 1.4,
  /**
   * Minimum confidence percent of a frame with every other frontal frame. The frames of a still sequence have at
   * least 84.7. Of non-mated pairs of photos, 1.4 % reach the threshold. Of mated pairs, taken years apart and turned,
   * 5 to 13 % do not.
   */
  agreement: 45,
  /** Maximum area of another face, as a share of the largest. Bystanders behind still faces have at most 0.17. */
  other_face: 0.4,
  /**
   * Two frames are copies if the cosine of their embeddings is above `copy_cosine` and their landmarks are less
   * than `copy_shift` apart, in face widths. Two still frames have a cosine of at most 0.994. A frame and a copy
   * that was brightened, resized or saved as a JPEG of quality 95 have at least 0.995, and landmarks within 0.004.
   * At quality 80, 90 % of the copies are above 0.996.
   */
  copy_cosine: 0.996,
  copy_shift: 0.004,
};
export type MotionThresholds = typeof motionThresholds;

/** Comparison of two frames. */
export interface FramePair {
  /** Confidence percent, from 0 to 100. */
  percent: number;
  cosine: number;
}

export interface MotionStep {
  step: Step;
  passed: boolean;
  /** The frame that shows the step best; undefined if no frame changes in its direction. */
  frame: number | undefined;
  /** Change from the baseline in this frame, in degrees; 0 without a frame. */
  yaw_change: number;
  pitch_change: number;
}

export interface MotionVerdict {
  live: boolean;
  reasons: LiveReason[];
  steps: MotionStep[];
  /** Indices of the frontal frames; the first frame if none is frontal. */
  neutral: number[];
  /** Minimum percent of each frame with the other frontal frames; undefined if there are none. */
  agreements: (number | undefined)[];
}

/** Change of a head's pose from the baseline, and the stretch of the face. */
interface Change {
  yaw: number;
  pitch: number;
  stretch: number;
}

/** A movement that shows one step. */
interface Excursion {
  step: Step;
  /** The frame with the largest change. */
  frame: number;
}

interface FoundFace {
  quality: { stretch_ratio: number };
  pose: MotionFrame['pose'];
  box: MotionFrame['box'];
  landmarks: Readonly<Record<string, Point>>;
}

const areaOf = ({ box }: FoundFace) => box.width * box.height;

/** Returns the measurements of a frame from its faces: at least one, largest first. */
export function motionFrame([first, second]: readonly FoundFace[]): MotionFrame {
  return {
    pose: first!.pose,
    box: first!.box,
    points: Object.values(first!.landmarks),
    stretch: first!.quality.stretch_ratio,
    other_face: second === undefined ? 0 : areaOf(second) / areaOf(first!),
  };
}

/** Judges a sequence of frames. `compare`: compares the two frames with these indices. */
export function judgeMotion(
  frames: readonly MotionFrame[],
  asked: readonly Step[],
  compare: (a: number, b: number) => FramePair,
  thresholds: MotionThresholds = motionThresholds,
): MotionVerdict {
  const baseline = baselineOf(frames, thresholds);
  const changes = frames.map(({ pose, stretch }) => ({
    yaw: pose.yaw - baseline.yaw,
    pitch: pose.pitch - baseline.pitch,
    stretch,
  }));
  const excursions = excursionsOf(changes, thresholds);
  const passes = matchSteps(asked, excursions);
  const frontal = changes.flatMap((change, i) => (isStill(change, thresholds) ? [i] : []));
  const neutral = frontal.length > 0 ? frontal : [0];
  const agreements = frames.map((_, i) =>
    lowest(neutral.filter((j) => j !== i).map((j) => compare(i, j).percent)),
  );
  const found = new Set<LiveReason>(orderFaults(asked, excursions, passes));
  const [first] = frames;
  if (!first || !isNeutral(first, thresholds)) found.add('no_neutral_frame');
  if (agreements.some((percent) => !(percent === undefined || percent >= thresholds.agreement)))
    found.add('identity_changed');
  if (frames.some((_, i) => i > 0 && isJump(frames, changes, i, thresholds))) found.add('motion_jump');
  if (frames.some(({ other_face }) => !(other_face <= thresholds.other_face))) found.add('several_faces');
  if (hasCopy(frames, compare, thresholds)) found.add('repeated_frame');
  const reasons = liveReasons.filter((reason) => found.has(reason));
  return {
    live: reasons.length === 0,
    reasons,
    steps: asked.map((step, i) => stepOf(step, passes[i], changes)),
    neutral,
    agreements,
  };
}

const isNeutral = ({ pose }: MotionFrame, { neutral_yaw, neutral_pitch }: MotionThresholds) =>
  Math.abs(pose.yaw) <= neutral_yaw && Math.abs(pose.pitch) <= neutral_pitch;

const isStill = (
  { yaw, pitch }: Pick<Change, 'yaw' | 'pitch'>,
  { still_yaw, still_pitch }: MotionThresholds,
) => Math.abs(yaw) <= still_yaw && Math.abs(pitch) <= still_pitch;

/** Maximum number of frames at the beginning that determine the baseline. */
const baselineFrames = 3;

/** Returns the median pose of the first frames, before any frame that has moved. */
function baselineOf(
  frames: readonly MotionFrame[],
  thresholds: MotionThresholds,
): Pick<Change, 'yaw' | 'pitch'> {
  const poses = frames.slice(0, baselineFrames).map(({ pose }) => pose);
  const [first = { yaw: 0, pitch: 0 }] = poses;
  const moved = poses.findIndex(
    ({ yaw, pitch }) => !isStill({ yaw: yaw - first.yaw, pitch: pitch - first.pitch }, thresholds),
  );
  const leading = moved < 0 ? poses : poses.slice(0, moved);
  return { yaw: median(leading.map(({ yaw }) => yaw)), pitch: median(leading.map(({ pitch }) => pitch)) };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/**
 * Returns the step that a frame shows, and its size in multiples of its threshold. Returns undefined if the change is
 * below the threshold, the face is stretched, or both axes change.
 */
function shownStep(
  { yaw, pitch, stretch }: Change,
  thresholds: MotionThresholds,
): { step: Step; strength: number } | undefined {
  const across = Math.abs(yaw) / thresholds.step_yaw;
  const along = Math.abs(pitch) / thresholds.step_pitch;
  const strength = Math.max(across, along);
  if (!(strength >= 1) || !(stretch <= thresholds.step_stretch)) return undefined;
  if (Math.min(across, along) > thresholds.other_axis * strength) return undefined;
  if (across > along) return { step: yaw > 0 ? 'left' : 'right', strength };
  return { step: pitch > 0 ? 'up' : 'down', strength };
}

/**
 * Returns the movements that show a step. A movement ends when the head is straight again or shows another step. It
 * has at least two frames, or one frame well beyond the threshold. The two frames need not be adjacent, because noise
 * may put a frame between them below the threshold. Consecutive movements of one step count once.
 */
function excursionsOf(changes: readonly Change[], thresholds: MotionThresholds): Excursion[] {
  const excursions: Excursion[] = [];
  let run: { step: Step; frames: number; strength: number; frame: number } | undefined;
  const end = () => {
    if (run && (run.frames >= 2 || run.strength >= thresholds.alone)) {
      if (excursions.at(-1)?.step !== run.step) excursions.push({ step: run.step, frame: run.frame });
    }
    run = undefined;
  };
  for (const [frame, change] of changes.entries()) {
    const shown = shownStep(change, thresholds);
    if (shown === undefined ? isStill(change, thresholds) : shown.step !== run?.step) end();
    if (shown === undefined) continue;
    if (run === undefined) run = { ...shown, frames: 1, frame };
    else {
      run.frames += 1;
      if (shown.strength > run.strength) Object.assign(run, { strength: shown.strength, frame });
    }
  }
  end();
  return excursions;
}

/** Returns the excursion of each step in order; undefined for a step without an excursion. */
function matchSteps(asked: readonly Step[], excursions: readonly Excursion[]): (Excursion | undefined)[] {
  let at = 0;
  return asked.map((step) => {
    const index = excursions.findIndex((one, i) => i >= at && one.step === step);
    if (index < 0) return undefined;
    at = index + 1;
    return excursions[index];
  });
}

/**
 * Returns the reasons that concern the steps and their order. Other movements are rejected, because a video with all
 * movements would otherwise pass every challenge.
 */
function orderFaults(
  asked: readonly Step[],
  excursions: readonly Excursion[],
  passes: readonly (Excursion | undefined)[],
): LiveReason[] {
  const extra = excursions.filter((one) => !passes.includes(one));
  return [
    ...(passes.includes(undefined) ? (['step_missing'] as const) : []),
    ...(extra.some(({ step }) => !asked.includes(step)) ? (['wrong_direction'] as const) : []),
    ...(extra.some(({ step }) => asked.includes(step)) ? (['out_of_order'] as const) : []),
  ];
}

/**
 * Returns the result of a step, for the frame that shows it or, if there is none, the frame with the maximum
 * change in its direction.
 */
function stepOf(step: Step, passed: Excursion | undefined, changes: readonly Change[]): MotionStep {
  const towards = ({ yaw, pitch }: Change) => ({ left: yaw, right: -yaw, up: pitch, down: -pitch })[step];
  const best = changes.reduce((best, change, i) => (towards(change) > towards(changes[best]!) ? i : best), 0);
  const frame = passed?.frame ?? (changes[best] && towards(changes[best]) > 0 ? best : undefined);
  const { yaw: yaw_change, pitch: pitch_change } = (frame !== undefined && changes[frame]) || {
    yaw: 0,
    pitch: 0,
  };
  return { step, passed: passed !== undefined, frame, yaw_change, pitch_change };
}

const lowest = (values: readonly number[]) => (values.length === 0 ? undefined : Math.min(...values));

/** Returns true if both frames are turned to the same side, beyond the limit of a frontal frame. */
const areTurned = (a: Change, b: Change, { still_yaw }: MotionThresholds) =>
  Math.min(Math.abs(a.yaw), Math.abs(b.yaw)) > still_yaw && a.yaw > 0 === b.yaw > 0;

/** Returns true if a frame changes too much from the previous frame. NaN counts as a jump. */
function isJump(
  frames: readonly MotionFrame[],
  changes: readonly Change[],
  at: number,
  thresholds: MotionThresholds,
): boolean {
  const [before, after] = [changes[at - 1]!, changes[at]!];
  const [a, b] = [frames[at - 1]!.box, frames[at]!.box];
  const width = (a.width + b.width) / 2;
  const shift = Math.hypot(a.x + a.width / 2 - b.x - b.width / 2, a.y + a.height / 2 - b.y - b.height / 2);
  const size = Math.max(a.height / b.height, b.height / a.height);
  return !(
    Math.abs(after.yaw - before.yaw) <=
      (areTurned(before, after, thresholds) ? thresholds.jump_turned : thresholds.jump_yaw) &&
    Math.abs(after.pitch - before.pitch) <= thresholds.jump_pitch &&
    shift <= thresholds.jump_shift * width &&
    size <= thresholds.jump_size
  );
}

/** Returns true if any two frames are copies. A repeated frame need not directly follow the original. */
function hasCopy(
  frames: readonly MotionFrame[],
  compare: (a: number, b: number) => FramePair,
  thresholds: MotionThresholds,
): boolean {
  return frames.some((frame, i) =>
    frames.some(
      (other, j) =>
        j > i &&
        shiftOf(frame, other) < thresholds.copy_shift &&
        compare(i, j).cosine > thresholds.copy_cosine,
    ),
  );
}

/** Returns the mean distance of the points, in widths of face `a`, after the centres of both faces are aligned. */
function shiftOf(a: MotionFrame, b: MotionFrame): number {
  const [first, second] = [a, b].map(({ points }) => {
    const centre = [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis]!, 0) / points.length);
    return points.map(([x, y]) => [x - centre[0]!, y - centre[1]!] as const);
  }) as [Point[], Point[]];
  const distances = first.map(([x, y], i) => Math.hypot(x - second[i]![0], y - second[i]![1]));
  return distances.reduce((sum, distance) => sum + distance, 0) / distances.length / a.box.width;
}
