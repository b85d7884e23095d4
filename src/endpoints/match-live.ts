import { z } from 'zod';
import type { Analysis } from '../engine/addon.ts';
import type { Calibration } from '../scoring/calibration.ts';
import {
  type FramePair,
  frameLimits,
  judgeMotion,
  type LiveReason,
  type MotionVerdict,
  motionFrame,
} from '../scoring/motion.ts';
import type { ComparedPersons } from '../scoring/persons.ts';
import { similarityOf } from '../scoring/similarity.ts';
import { disagreement, disagreementWarnings } from './agreement.ts';
import { limitText, maxChallenge_characters, stepName } from './challenge.ts';
import { assessPair, decision, decisionOf, shifted } from './comparison.ts';
import { type Analysed, define, type Found, type HandlerResult, type Photo, prefix } from './endpoint.ts';
import { imageBody, round } from './face.ts';
import { lowQuality } from './face-quality.ts';
import { faultsOf, type ImageFault } from './faults.ts';
import { imageCounts, imageRule, optionsOf, rejectionOf, responseUnlessRejected } from './images.ts';
import { facesOf, maxPhotos, PersonPhoto, photosBody } from './match-person.ts';
import { request_id, rest, timingsBody } from './response-members.ts';
import { count, flag, object, percent, word } from './schema.ts';
import { betterFace, incomplete, requestWarnings, type Warning } from './warnings.ts';

/**
 * Second request of a liveness check: judges frames of a moving head, and compares them with reference photos
 * of one person.
 */

const reasons: Record<LiveReason, string> = {
  no_neutral_frame: 'in the first frame the person does not look straight into the camera',
  step_missing: 'a step was not shown, or the movement was too small',
  wrong_direction: 'a movement was shown that is not a step of the challenge',
  out_of_order: 'a step was repeated, or shown out of order',
  identity_changed: 'a frame may show a different person from the frames with `looks_straight`',
  motion_jump: 'pose, position or size of the face changes more between two frames than a head can move',
  several_faces: 'a frame has a second face of comparable size',
  repeated_frame: 'two frames are the same image',
};

const degrees = (what: string) => z.number().min(-360).max(360).describe(`${what}, degrees`);
const pose = (what: string) => z.number().min(-180).max(180).describe(`${what}, degrees`);

const LiveStep = object('A step of the challenge.', {
  step: stepName,
  passed: flag('True if the frames show the step in the required order'),
  frame: count.nullable().describe('Index of the frame that shows the step best; null if no frame shows it'),
  yaw_change: degrees(
    "Change of the yaw from the first frames to `frame`; positive to the person's own left; 0 if `frame` is null",
  ),
  pitch_change: degrees(
    'Change of the pitch from the first frames to `frame`; positive upwards; 0 if `frame` is null',
  ),
});

export const LiveFrame = PersonPhoto.extend({
  index: count.describe('Zero-based position among the frames'),
  yaw: pose('Yaw of the largest face'),
  pitch: pose('Pitch of the largest face'),
  agreement_percent: percent
    .nullable()
    .describe(
      'Lowest `confidence_percent` of the frame compared with each other frame that has `looks_straight`; null if there is none',
    ),
  looks_straight: flag(
    'True if the person looks into the camera; these frames are compared with the reference photos',
  ),
}).describe('A frame and its faces; the largest face is used.');

const photos = z.int().min(1);

const Live = object(
  `Result of a liveness check and of the comparison with the reference photos. ${limitText}`,
  {
    request_id,
    verified: flag('True if `match` and `live` are true'),
    ...decision,
    live: flag('True if the frames show the steps of the challenge as one continuous movement of one person'),
    steps: z.array(LiveStep).min(1).max(4).describe('In the order of the challenge'),
    live_reasons: z
      .array(word(reasons, 'Reason why the frames are not live.'))
      .describe('Reasons; empty if `live` is true'),
    frames: z.array(LiveFrame).min(1).max(frameLimits.max).describe('In the order sent'),
    image2: z.array(PersonPhoto).min(1).max(maxPhotos.image2).describe('In the order sent'),
    photos_compared: object('Number of photos compared on each side', {
      frames: photos
        .max(frameLimits.max)
        .describe('Number of frames in which the person looks into the camera'),
      image2: photos.max(maxPhotos.image2).describe('Number of reference photos'),
    }),
    ...rest,
  },
);

export type Live = z.infer<typeof Live>;
type LiveFrame = z.infer<typeof LiveFrame>;

interface Seen {
  photo: Photo;
  analysis: Analysis;
}

/** The frames, the reference photos, and the verdict on the frames. */
interface Check {
  frames: Seen[];
  references: Seen[];
  verdict: MotionVerdict;
}

/** Returns the errors of the images, in the form's order. */
const faultsIn = ({ photos, outcomes }: Found): ImageFault[] =>
  photos.flatMap(({ field, index }, i) => faultsOf(field, outcomes[i]!, -1, index));

/** Runs the liveness check on images without errors. */
function checkOf({ photos, outcomes, steps, calibration }: Found): Check {
  const of = (name: string) =>
    photos.flatMap((photo, i) => {
      const analysis = outcomes[i]!;
      return photo.field === name && analysis.ok ? [{ photo, analysis }] : [];
    });
  const frames = of('frame');
  return { frames, references: of('image2'), verdict: judgeFrames(frames, steps!, calibration) };
}

function judgeFrames(frames: readonly Seen[], steps: Analysed['steps'] & {}, calibration: Calibration) {
  const faces = frames.map(({ analysis }) => analysis.image.faces[0]!);
  const compare = (a: number, b: number): FramePair => {
    const { similarity, normalised_similarity } = similarityOf(faces[a]!, faces[b]!);
    // An uncalibrated percent cannot show agreement, so the check fails.
    const percent = calibration.measured
      ? calibration.assess(normalised_similarity, 1).confidence_percent
      : 0;
    return { percent, cosine: similarity };
  };
  return judgeMotion(
    frames.map(({ analysis }) => motionFrame(analysis.image.faces)),
    steps,
    compare,
  );
}

/** Returns the frontal frames and the reference photos. */
const sidesOf = ({ frames, references, verdict }: Check) =>
  [verdict.neutral.map((i) => frames[i]!), references] as const;

function bodyOf({ context, calibration }: Analysed, check: Check, compared: ComparedPersons): Live {
  const { request_id, options, model } = context;
  const { frames, references, verdict } = check;
  const [frontal, image2Side] = sidesOf(check);
  const [agreeing, referring] = compared.sides;
  const image2 = photosBody({ photos: references }, referring!, calibration);
  const photos_compared = { frames: frontal.length, image2: image2Side.length };
  const assessed = assessPair(
    shifted(compared, calibration, photos_compared.frames, photos_compared.image2),
    calibration,
    1,
    options.threshold_percent,
  );
  const framesBody = frames.map((frame, i) => frameBody(frame, i, verdict));
  const pairDecision = decisionOf(assessed, options);
  const maxPhotos = Math.max(photos_compared.frames, photos_compared.image2);
  return {
    request_id,
    verified: pairDecision.match && verdict.live,
    ...pairDecision,
    live: verdict.live,
    steps: verdict.steps.map(({ step, passed, frame, yaw_change, pitch_change }) => ({
      step,
      passed,
      frame: frame ?? null,
      yaw_change: round(yaw_change, 1),
      pitch_change: round(pitch_change, 1),
    })),
    live_reasons: verdict.reasons,
    frames: framesBody,
    image2,
    photos_compared,
    model,
    warnings: [
      ...requestWarnings(context, options.threshold_percent, calibration, maxPhotos),
      ...frames.flatMap(({ analysis }, i) => incomplete('frame', analysis.image, i)),
      ...frontal.flatMap(({ photo: { index } }, i) => [
        ...betterFace('frame', index, agreeing![i]!.best_face),
        ...lowQuality('frame', framesBody[index]!.faces[0]!, index),
      ]),
      ...references.flatMap(({ analysis }, i): Warning[] => [
        ...incomplete('image2', analysis.image, i),
        ...betterFace('image2', i, referring![i]!.best_face),
        ...lowQuality('image2', image2[i]!.faces[0]!, i),
      ]),
    ],
    timings_ms: timingsBody(
      context,
      [...frames, ...references].map(({ analysis }) => analysis),
    ),
  };
}

function frameBody(
  { photo: { index, filename }, analysis }: Seen,
  at: number,
  verdict: MotionVerdict,
): LiveFrame {
  const agreement = verdict.agreements[at];
  const image = imageBody(analysis.image);
  const { yaw, pitch } = image.faces[0]!.pose;
  return {
    index,
    ...(filename === undefined ? {} : { filename }),
    yaw,
    pitch,
    looks_straight: verdict.neutral.includes(at),
    agreement_percent: agreement === undefined ? null : round(agreement, 1),
    ...image,
    face_index: 0,
  };
}

export const matchLive = define({
  id: 'match_live',
  method: 'POST',
  path: `${prefix}/face/match/upload/live`,
  scope: 'match:live',
  audited: true,
  takes: 'images',
  redeems: 'challenge',
  analysis: { refine_landmarks: true },
  fields: {
    challenge: {
      kind: 'token',
      max: maxChallenge_characters,
      description: 'The `challenge` of match/challenge; accepted once',
    },
    frame: {
      ...imageRule(
        'A camera frame, in capture order; in the first one the person looks straight into the camera',
      ),
      min: frameLimits.min,
      max: frameLimits.max,
    },
    image2: { ...imageRule('A reference photo of the person'), max: maxPhotos.image2 },
    ...optionsOf('match_live'),
  },
  values: 'LiveValues',
  success: {
    description: 'The frames were checked, whether they are live or not',
    name: 'Live',
    schema: Live,
  },
  errors: ['faces', 'persons'],
  furtherTokens: (images) => Math.max(0, images - 2),
  tooManyFor: (burst) => ({
    limit: burst + 1,
    detail: `This key can send at most ${burst + 1} images per request, frames and image2 together. Send fewer images.`,
  }),
  docs: {
    tag: 'live',
    summary: 'Check that a person is live, and compare them with photos',
    description:
      `Checks ${frameLimits.min} to ${frameLimits.max} frames (\`frame\`) of a head that makes the movements of the challenge, and compares them with up to ${maxPhotos.image2} photos of one ` +
      'person (`image2`). `verified` is true if the movement is that of a live head and the person matches. ' +
      `${limitText} Disabled by default.`,
    further: ' Each image beyond the second takes one more.',
    curl: [
      '-F challenge=CHALLENGE',
      ...[0, 1, 2, 3, 4, 5].map((frame) => `-F frame=@frame${frame}.jpg`),
      '-F image2=@reference.jpg',
    ],
  },
  persons(found) {
    if (faultsIn(found).length > 0) return undefined;
    const check = checkOf(found);
    const [frontal, references] = sidesOf(check);
    return {
      input: [facesOf({ photos: frontal }), facesOf({ photos: references })],
      buildResponse: (analysed, compared) => liveResponse(analysed, check, compared),
    };
  },
  buildResponse: (found) => rejectionOf(faultsIn(found)),
});

function liveResponse(analysed: Analysed, check: Check, compared: ComparedPersons): HandlerResult {
  const { context, calibration, steps } = analysed;
  const { options } = context;
  const body = bodyOf(analysed, check, compared);
  const counts = [...body.frames, ...body.image2].map(imageCounts);
  const percents = body.image2.map(({ agreement_percent }) => agreement_percent);
  const agreements = [['image2', percents, compared.sides[1]!.map(({ best_face }) => best_face)] as const];
  const rejection = disagreement(agreements, options.min_agreement_percent, calibration);
  if (rejection) return { rejection, counts, timings_ms: body.timings_ms };
  body.warnings.push(...disagreementWarnings(agreements, calibration));
  const { accuracy_mode, threshold_percent, confidence_percent, match, live, live_reasons, verified } = body;
  const checkedFaces = [
    ...body.frames.filter(({ looks_straight }) => looks_straight).map((frame) => ({ field: 'frame', frame })),
    ...body.image2.map((frame) => ({ field: 'image2', frame })),
  ].map(({ field, frame }) => ({ field, photo: frame.index, face: frame.faces[0]! }));
  return responseUnlessRejected(body, options, checkedFaces, counts, [
    {
      accuracy_mode,
      threshold_percent,
      confidence_percent,
      match,
      steps: steps!,
      live,
      live_reasons,
      verified,
    },
  ]);
}
