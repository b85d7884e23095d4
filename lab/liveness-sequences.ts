import {
  type Calibration,
  type Face,
  type FramePair,
  judgeMotion,
  type MotionFrame,
  type MotionVerdict,
  meanOf,
  motionBars,
  motionFrame,
  type Step,
  similarityOf,
} from 'facematch/for-lab';

/**
 * Sequences of frames for the decision of the liveness check, and sequences composed from one person's
 * photos.
 */

export interface Sequence {
  /** Name of the sequence in messages: a folder, or how it was made. */
  name: string;
  person: string;
  /** The attack instrument species; undefined for a bona fide presentation. */
  species: string | undefined;
  /** Steps that the person or the attacker was asked for; undefined if none were. */
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

/** Uses the same decision as match/upload/live. */
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

/** Seeded, so that a measurement can be repeated (mulberry32). */
export class Dice {
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

  /** Rate under a normal distribution with this deviation. */
  noise(deviation: number): number {
    return deviation * Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.next() * items.length)];
  }
}

/** Photos of one person from which a sequence can be composed. */
export interface KeyPhotos {
  person: string;
  straight: Frame;
  /** One for each step. */
  turned: readonly Frame[];
}

const isStraight = ({ motion: { pose } }: Frame) => Math.abs(pose.yaw) <= 12 && Math.abs(pose.pitch) <= 15;

/**
 * Returns the straight photos of a person that disagree with at least half of at least two others: their label is probably wrong.
 * Turned photos are not judged, because whether they agree is what a sequence shows.
 */
export function doubtfulPhotos(photos: readonly Frame[], calibration: Calibration): Set<Frame> {
  const straight = photos.filter(isStraight);
  return new Set(
    straight.filter((photo) => {
      const others = straight.filter((other) => other !== photo);
      const disagreeing = others.filter(
        (other) => comparisonOf(photo, other, calibration).percent < motionBars.agreement,
      );
      return others.length >= 2 && disagreeing.length >= others.length / 2;
    }),
  );
}

/** Difference of a photo's pose from that of another one. */
const changeOf = (from: Frame, to: Frame) => ({
  yaw: to.motion.pose.yaw - from.motion.pose.yaw,
  pitch: to.motion.pose.pitch - from.motion.pose.pitch,
});

/**
 * Angles between which a photo shows a step, like a person who was asked: beyond the bar by a fifth, and the
 * other axis at rest.
 */
const asked = { yaw: [30, 55], pitch: [15, 30], across: 12, along: 8 } as const;

const within = (angle: number, [low, high]: readonly [number, number]) => angle >= low && angle <= high;

function shows(step: Step, { yaw, pitch }: { yaw: number; pitch: number }): boolean {
  switch (step) {
    case 'left':
    case 'right':
      return within(step === 'left' ? yaw : -yaw, asked.yaw) && Math.abs(pitch) <= asked.along;
    case 'up':
    case 'down':
      return within(step === 'up' ? pitch : -pitch, asked.pitch) && Math.abs(yaw) <= asked.across;
  }
}

/** Draws a straight photo and one for each step, among those that fit; undefined if there are none. */
export function keyPhotos(
  person: string,
  photos: readonly Frame[],
  steps: readonly Step[],
  dice: Dice,
): KeyPhotos | undefined {
  const whole = photos.filter(isStraight).flatMap((first) => {
    const turned = steps.map((step) => photos.filter((photo) => shows(step, changeOf(first, photo))));
    return turned.every((some) => some.length > 0) ? [{ first, turned }] : [];
  });
  const chosen = dice.pick(whole);
  return chosen && { person, straight: chosen.first, turned: chosen.turned.map((some) => dice.pick(some)!) };
}

/**
 * Noise from frame to frame of a face that is held still, as in the live sequences of NUAA: of the pose in degrees, and of the box and the
 * landmarks in widths of the face. That of the embedding gives two frames of one photo a cosine of 0.99, as the most similar still frames have.
 */
const jitter = { yaw: 1.2, pitch: 1.8, shift: 0.02, points: 0.009, embedding: 0.1 };

function shaken({ embedding, ...face }: Frame['face'], dice: Dice): Frame['face'] {
  const each = jitter.embedding / Math.sqrt(embedding.length);
  return { ...face, embedding: meanOf([embedding.map((value) => value + dice.noise(each))]) };
}

/** Pose and stretch of a face in a frame. */
interface View {
  yaw: number;
  pitch: number;
  stretch: number;
}

const viewOf = ({ motion: { pose, stretch } }: Frame): View => ({ ...pose, stretch });

/**
 * Makes a photo the frame of a camera: in this view, and with the frame-to-frame noise of a head, a hand and the
 * light.
 */
function seen(photo: Frame, { yaw, pitch, stretch }: View, dice: Dice): Frame {
  const { box, points } = photo.motion;
  // Photos have any size and place, but a head in front of a camera keeps its own.
  const side = 150;
  const scale = side / box.width;
  const [dx, dy] = [dice.noise(jitter.shift * side), dice.noise(jitter.shift * side)];
  return {
    face: shaken(photo.face, dice),
    motion: {
      ...photo.motion,
      stretch,
      pose: { yaw: yaw + dice.noise(jitter.yaw), pitch: pitch + dice.noise(jitter.pitch) },
      box: { x: 200 + dx, y: 150 + dy, width: side, height: 1.2 * side },
      points: points.map(
        ([x, y]) =>
          [
            scale * (x - box.x) + dice.noise(jitter.points * side),
            scale * (y - box.y) + dice.noise(jitter.points * side),
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

/** Shares of a step on the way there and back: two steps take the 16 frames of a request. */
const shares = [1 / 3, 2 / 3, 1, 1, 2 / 3, 1 / 3, 0];

/**
 * A head that turns from photo to photo and back, in 16 frames. Pose and stretch between two photos are interpolated; each frame has the embedding
 * of the nearer photo. So it tests the content of the photos, not the continuity of a real movement.
 */
export function assembled({ straight, turned }: KeyPhotos, dice: Dice): Frame[] {
  const frames = [0, 1].map(() => seen(straight, viewOf(straight), dice));
  for (const photo of turned)
    for (const share of shares)
      frames.push(seen(share > 0.5 ? photo : straight, between(straight, photo, share), dice));
  return frames;
}

/** The photos themselves, each held in front of the camera by hand and swapped for the next. */
export function swapped({ straight, turned }: KeyPhotos, dice: Dice): Frame[] {
  const hold = (photo: Frame) => [0, 1, 2].map(() => seen(photo, viewOf(photo), dice));
  return [...hold(straight), ...turned.flatMap((photo) => [...hold(photo), ...hold(straight).slice(0, 1)])];
}

/**
 * Attacks that use a sequence that passes: of the same challenge, by an attacker with the victim's photos.
 */
export function attacksOn(sequence: readonly Frame[], keys: KeyPhotos, attacker: KeyPhotos, dice: Dice) {
  const own = assembled(attacker, dice);
  const isTurned = (frame: Frame) => {
    const { yaw, pitch } = changeOf(keys.straight, frame);
    return Math.abs(yaw) > 9 || Math.abs(pitch) > 9;
  };
  const copied = 1 + Math.floor(dice.next() * (sequence.length - 1));
  return {
    'photos swapped by hand': swapped(keys, dice),
    'a frame repeated': sequence.with(copied, sequence[copied - 1]!),
    'the film played backwards': sequence.toReversed(),
    'somebody else for the turned frames': sequence.map((frame, i) =>
      isTurned(frame) ? { ...frame, face: (own[Math.min(i, own.length - 1)] ?? frame).face } : frame,
    ),
    "the victim's photo before the attacker's own head": [sequence[0]!, ...own.slice(1)],
  };
}
