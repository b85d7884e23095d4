import {
  type Calibration,
  type Face,
  type FramePair,
  judgeMotion,
  type MotionFrame,
  type MotionVerdict,
  meanOf,
  motionFrame,
  motionThresholds,
  type Step,
  similarityOf,
} from 'facematch/for-lab';

/** Judges sequences of frames like the liveness check, and composes sequences from the photos of a person. */

export interface Sequence {
  /** Name in messages: the folder, or the person and the steps of a composed sequence. */
  name: string;
  person: string;
  /** The attack instrument species; undefined for a bona fide presentation. */
  species: string | undefined;
  /** Steps of the challenge; undefined if the person was not asked to move. */
  asked: readonly Step[] | undefined;
  /** True if the label of one of its photos is probably wrong. */
  isDoubtful?: boolean;
  frames: readonly Frame[];
}

export interface Frame {
  motion: MotionFrame;
  face: Pick<Face, 'embedding' | 'cohort_score'>;
}

export const frameOf = (faces: readonly Face[]): Frame => ({ motion: motionFrame(faces), face: faces[0]! });

/** Decides like match/upload/live. */
export function judge(
  { frames }: Pick<Sequence, 'frames'>,
  asked: readonly Step[],
  calibration: Calibration,
): MotionVerdict {
  return judgeMotion(
    frames.map(({ motion }) => motion),
    asked,
    (a, b) => comparisonOf(frames[a]!, frames[b]!, calibration),
  );
}

function comparisonOf(a: Frame, b: Frame, calibration: Calibration): FramePair {
  const { similarity, normalised_similarity } = similarityOf(a.face, b.face);
  return { cosine: similarity, percent: calibration.assess(normalised_similarity, 1).confidence_percent };
}

/** Random numbers from a seed (mulberry32), so that measurements are reproducible. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns a normally distributed number with this standard deviation. */
  noise(deviation: number): number {
    return deviation * Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.next() * items.length)];
  }
}

/** Photos of one person, to compose a sequence from. */
export interface KeyPhotos {
  person: string;
  straight: Frame;
  /** One photo for each step. */
  turned: readonly Frame[];
}

const isStraight = ({ motion: { pose } }: Frame) => Math.abs(pose.yaw) <= 12 && Math.abs(pose.pitch) <= 15;

/**
 * Returns the frontal photos of a person that disagree with at least half of the other frontal photos, if there are
 * at least two others. Their label is probably wrong. Ignores turned photos, because the test itself measures whether
 * they agree.
 */
export function doubtfulPhotos(photos: readonly Frame[], calibration: Calibration): Set<Frame> {
  const straight = photos.filter(isStraight);
  return new Set(
    straight.filter((photo) => {
      const others = straight.filter((other) => other !== photo);
      const disagreeing = others.filter(
        (other) => comparisonOf(photo, other, calibration).percent < motionThresholds.agreement,
      );
      return others.length >= 2 && disagreeing.length >= others.length / 2;
    }),
  );
}

/** Returns the change of the pose from one photo to another. */
const changeOf = (from: Frame, to: Frame) => ({
  yaw: to.motion.pose.yaw - from.motion.pose.yaw,
  pitch: to.motion.pose.pitch - from.motion.pose.pitch,
});

/**
 * Ranges of angles, in degrees, in which a photo counts as a performed step. They start above the thresholds of the
 * service (motionThresholds). The maxima limit the angle about the other axis.
 */
const stepRanges = { yaw: [30, 55], pitch: [15, 30], maxYaw: 12, maxPitch: 8 } as const;

const within = (angle: number, [low, high]: readonly [number, number]) => angle >= low && angle <= high;

function shows(step: Step, { yaw, pitch }: { yaw: number; pitch: number }): boolean {
  switch (step) {
    case 'left':
    case 'right':
      return within(step === 'left' ? yaw : -yaw, stepRanges.yaw) && Math.abs(pitch) <= stepRanges.maxPitch;
    case 'up':
    case 'down':
      return within(step === 'up' ? pitch : -pitch, stepRanges.pitch) && Math.abs(yaw) <= stepRanges.maxYaw;
  }
}

/** Chooses a frontal photo and a photo for each step at random; undefined if the person has none that fit. */
export function keyPhotos(
  person: string,
  photos: readonly Frame[],
  steps: readonly Step[],
  random: SeededRandom,
): KeyPhotos | undefined {
  const whole = photos.filter(isStraight).flatMap((first) => {
    const turned = steps.map((step) => photos.filter((photo) => shows(step, changeOf(first, photo))));
    return turned.every((some) => some.length > 0) ? [{ first, turned }] : [];
  });
  const chosen = random.pick(whole);
  return (
    chosen && { person, straight: chosen.first, turned: chosen.turned.map((some) => random.pick(some)!) }
  );
}

/**
 * Frame-to-frame noise of a face that does not move, measured on the live sequences of NUAA. The pose is in degrees,
 * and the box and the landmarks are in face widths. With the noise of the embedding, two frames of one photo have a
 * cosine of 0.99, like the most similar still frames.
 */
const jitter = { yaw: 1.2, pitch: 1.8, shift: 0.02, points: 0.009, embedding: 0.1 };

function withEmbeddingNoise({ embedding, ...face }: Frame['face'], random: SeededRandom): Frame['face'] {
  const each = jitter.embedding / Math.sqrt(embedding.length);
  return { ...face, embedding: meanOf([embedding.map((value) => value + random.noise(each))]) };
}

/** Pose of a face in a frame, and the stretch of its landmarks. */
interface View {
  yaw: number;
  pitch: number;
  stretch: number;
}

const viewOf = ({ motion: { pose, stretch } }: Frame): View => ({ ...pose, stretch });

/** Returns a simulated camera frame of a photo: with this view, and with frame-to-frame noise. */
function frameWith(photo: Frame, { yaw, pitch, stretch }: View, random: SeededRandom): Frame {
  const { box, points } = photo.motion;
  // All frames have the same face size and position, unlike the photos.
  const side = 150;
  const scale = side / box.width;
  const [dx, dy] = [random.noise(jitter.shift * side), random.noise(jitter.shift * side)];
  return {
    face: withEmbeddingNoise(photo.face, random),
    motion: {
      ...photo.motion,
      stretch,
      pose: { yaw: yaw + random.noise(jitter.yaw), pitch: pitch + random.noise(jitter.pitch) },
      box: { x: 200 + dx, y: 150 + dy, width: side, height: 1.2 * side },
      points: points.map(
        ([x, y]) =>
          [
            scale * (x - box.x) + random.noise(jitter.points * side),
            scale * (y - box.y) + random.noise(jitter.points * side),
          ] as const,
      ),
    },
  };
}

function between(first: Frame, second: Frame, share: number): View {
  const [a, b] = [viewOf(first), viewOf(second)];
  return {
    yaw: a.yaw + share * (b.yaw - a.yaw),
    pitch: a.pitch + share * (b.pitch - a.pitch),
    stretch: a.stretch + share * (b.stretch - a.stretch),
  };
}

/** Shares of a step's rotation in its seven frames, to the pose and back. Two frontal frames come before the steps. */
const shares = [1 / 3, 2 / 3, 1, 1, 2 / 3, 1 / 3, 0];

/**
 * Returns the frames, 16 for two steps, of a head that turns from the frontal photo to each turned photo and back. Pose and stretch are
 * interpolated, and each frame has the embedding of the nearer photo. So the frames do not test the continuity of a
 * real movement.
 */
export function assembled({ straight, turned }: KeyPhotos, random: SeededRandom): Frame[] {
  const frames = [0, 1].map(() => frameWith(straight, viewOf(straight), random));
  for (const photo of turned)
    for (const share of shares)
      frames.push(frameWith(share > 0.5 ? photo : straight, between(straight, photo, share), random));
  return frames;
}

/** Returns frames of an attacker who holds the photos in front of the camera, one after another. */
export function swapped({ straight, turned }: KeyPhotos, random: SeededRandom): Frame[] {
  const hold = (photo: Frame) => [0, 1, 2].map(() => frameWith(photo, viewOf(photo), random));
  return [...hold(straight), ...turned.flatMap((photo) => [...hold(photo), ...hold(straight).slice(0, 1)])];
}

/** Returns attacks on a sequence that passes, by an attacker who has the victim's photos or that sequence. */
export function attacksOn(
  sequence: readonly Frame[],
  keys: KeyPhotos,
  attacker: KeyPhotos,
  random: SeededRandom,
) {
  const own = assembled(attacker, random);
  const isTurned = (frame: Frame) => {
    const { yaw, pitch } = changeOf(keys.straight, frame);
    return Math.abs(yaw) > 9 || Math.abs(pitch) > 9;
  };
  const copied = 1 + Math.floor(random.next() * (sequence.length - 1));
  return {
    'photos swapped by hand': swapped(keys, random),
    'a frame sent twice': sequence.with(copied, sequence[copied - 1]!),
    'the sequence played backwards': sequence.toReversed(),
    'someone else in the turned frames': sequence.map((frame, i) =>
      isTurned(frame) ? { ...frame, face: (own[Math.min(i, own.length - 1)] ?? frame).face } : frame,
    ),
    "the victim's first frame, then the attacker's own head": [sequence[0]!, ...own.slice(1)],
  };
}
