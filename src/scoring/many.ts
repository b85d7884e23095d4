import type { Analysis } from '../engine/addon.ts';
import type { Outcome } from '../engine/pool.ts';
import { errorTable, Problem } from '../errors.ts';
import type { Compared, Many, Uncompared, Warning } from './answers.ts';
import type { Calibration } from './calibration.ts';
import { compare, problemOf, sum } from './compare.ts';
import { lowQuality, refusalOfFaces } from './face-quality.ts';
import { notTheLargest } from './largest-face.ts';
import {
  assessBest,
  imageBody,
  incomplete,
  type Question,
  thresholdBelowOne,
  timingsBody,
  uncalibrated,
} from './match.ts';

export interface Target {
  /** As sent; only a label. */
  filename: string | undefined;
  /** Its index among the images, or why it is not there. */
  image: number | Problem;
  /** The name of the image in problems; by default the form's field. */
  name?: string;
}

/** One image against several. */
interface ManyQuestion extends Question {
  targets: readonly Target[];
  /** In the order of the images; the first, image1, has no fault. */
  outcomes: readonly [Analysis, ...Outcome[]];
  calibration: Calibration;
}

/** One image against several → the answer of the contract. Each target gets a result of its own. */
export function manyAnswer(question: ManyQuestion): Many {
  const { request_id, options, targets, outcomes, model, queue_ms, total_ms } = question;
  const { threshold_percent, accuracy_mode, image1_face_index } = options;
  const results = targets.map((target, index) => ({
    index,
    ...(target.filename === undefined ? {} : { filename: target.filename }),
    ...resultOf(question, target),
  }));
  const best = results
    .filter((result) => 'match' in result)
    .toSorted((a, b) => b.confidence_percent - a.confidence_percent)[0];
  const matches = results.filter((result) => 'match' in result && result.match).length;
  const image1 = {
    ...imageBody(outcomes[0].image),
    face_index: best?.image1_face_index ?? Math.max(0, image1_face_index),
  };
  const analysed = outcomes.filter((outcome) => outcome.ok).map(({ timings_ms }) => timings_ms);
  return {
    request_id,
    threshold_percent,
    accuracy_mode,
    image1,
    results,
    matches,
    model,
    warnings: [
      ...question.warnings,
      ...thresholdBelowOne(threshold_percent),
      ...uncalibrated(question.calibration, model),
      ...incomplete('image1', outcomes[0].image),
      // Where nothing was compared, no face was chosen.
      ...(best === undefined ? [] : notTheLargest('image1', image1, image1_face_index)),
      ...lowQuality('image1', image1.faces[image1.face_index]!),
      ...(matches > 1 ? [bestOfMany(targets.length)] : []),
    ],
    timings_ms: timingsBody(queue_ms, analysed.reduce(sum), total_ms),
  };
}

/** The result of a target, or its problem. */
function resultOf(question: ManyQuestion, target: Target) {
  try {
    return comparedTarget(question, target);
  } catch (error) {
    if (error instanceof Problem) return { problem: problemBody(error) };
    throw error;
  }
}

function comparedTarget(
  { options, outcomes, calibration }: ManyQuestion,
  { image, name }: Target,
): Omit<Compared, 'index' | 'filename'> {
  if (image instanceof Problem) throw image;
  const result = compare([outcomes[0], outcomes[image]!], { ...options, image2_face_index: -1 });
  if (Array.isArray(result)) throw problemOf(result, name);
  const { best, ...verdict } = assessBest(result.pairs, calibration, options.threshold_percent);
  const image1 = { ...imageBody(result.image1), face_index: best.image1_face_index };
  const image2 = { ...imageBody(result.image2), face_index: best.image2_face_index };
  const poor = lowQuality('image2', image2.faces[image2.face_index]!);
  const asked = [{ field: 'image2', face: image2.faces[image2.face_index]! }];
  const refusal = refusalOfFaces(options, poor, asked);
  if (refusal) throw refusal;
  return {
    ...verdict,
    image1_face_index: best.image1_face_index,
    image2,
    pairs_compared: result.pairs.length,
    warnings: [
      ...incomplete('image2', result.image2),
      ...notTheLargest('image1', image1, options.image1_face_index),
      ...notTheLargest('image2', image2, -1),
      ...poor,
    ],
  };
}

/** Like the problem of a request, without the field, which is clear from its place. */
function problemBody({ code, message, extras }: Problem): Uncompared['problem'] {
  const { detail: _, field: __, errors, ...members } = extras;
  const { status, title } = errorTable[code];
  const reasons = errors?.flatMap(({ reasons = [] }) => reasons) ?? [];
  const attack = errors?.find(({ live_score }) => live_score !== undefined);
  const problem = {
    code,
    status,
    title,
    detail: message,
    ...members,
    ...(reasons.length > 0 ? { reasons } : {}),
    ...(attack ? { face_index: attack.face_index, live_score: attack.live_score } : {}),
  };
  return problem as Uncompared['problem'];
}

function bestOfMany(targets: number): Warning {
  const detail =
    'Each result stands for one comparison. If you take only the best of them, multiply its false_match_rate by ' +
    `${targets}: there were several chances of a false match.`;
  return { code: 'best_of_many', field: 'image2', detail };
}
