import type { Analysis, ImageReport, StageTimings } from '../engine/addon.ts';
import { base64 } from '../engine/cosine.ts';
import type { MatchOptions } from '../engine/match-options.ts';
import {
  type Detect,
  type Embed,
  type Image,
  type Match,
  maxFaces,
  type Timings,
  type Warning,
} from './answers.ts';
import type { Calibration } from './calibration.ts';
import type { Comparison, ImageField, Pair } from './compare.ts';
import { lowQuality, withQualityComponents } from './face-quality.ts';
import { notTheLargest } from './largest-face.ts';

/** What every answer about images is made from, whoever asked. */
export interface Question {
  request_id: string;
  options: MatchOptions;
  /** About the question itself. */
  warnings: readonly Warning[];
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

/** A comparison → the answer of the contract. Matching uses exact numbers; they are rounded afterwards. */
export function matchAnswer(question: Question, result: Comparison, calibration: Calibration): Match {
  const { request_id, options, warnings, model, queue_ms, total_ms } = question;
  const { pairs } = result;
  const { best, ...verdict } = assessBest(pairs, calibration, options.threshold_percent);
  const image1 = { ...imageBody(result.image1), face_index: best.image1_face_index };
  const image2 = { ...imageBody(result.image2), face_index: best.image2_face_index };
  return {
    request_id,
    match: verdict.match,
    confidence_percent: verdict.confidence_percent,
    threshold_percent: options.threshold_percent,
    similarity: verdict.similarity,
    false_match_rate: verdict.false_match_rate,
    extrapolated: verdict.extrapolated,
    accuracy_mode: options.accuracy_mode,
    image1,
    image2,
    pairs_compared: pairs.length,
    pairs: pairs.map((pair) => ({
      image1_face_index: pair.image1_face_index,
      image2_face_index: pair.image2_face_index,
      similarity: round(pair.similarity, 4),
      confidence_percent: round(
        calibration.assess(pair.normalised_similarity, pairs.length).confidence_percent,
        1,
      ),
    })),
    model,
    warnings: [
      ...warnings,
      ...thresholdBelowOne(options.threshold_percent),
      ...uncalibrated(calibration, model),
      ...incomplete('image1', result.image1),
      ...incomplete('image2', result.image2),
      ...comparedFace('image1', image1, options.image1_face_index),
      ...comparedFace('image2', image2, options.image2_face_index),
    ],
    timings_ms: timingsBody(queue_ms, result.timings_ms, total_ms),
  };
}

/** The analysis of one image → the answer of detect. */
export function detectAnswer(question: Question, analysis: Analysis): Detect {
  const { request_id, options, warnings, model, queue_ms, total_ms } = question;
  const image = imageBody(analysis.image);
  return {
    request_id,
    accuracy_mode: options.accuracy_mode,
    image: { ...image, faces: withQualityComponents(image.faces) },
    model,
    warnings: [...warnings, ...incomplete('image', analysis.image)],
    timings_ms: timingsBody(queue_ms, analysis.timings_ms, total_ms),
  };
}

/** The same with embeddings, of a length. Faces that were not asked for get no embedding and no quality warnings. */
export function embedAnswer(question: Question, analysis: Analysis, dimensions: number): Embed {
  const body = detectAnswer(question, analysis);
  const { face_index, accuracy_mode } = question.options;
  const wanted = (index: number) => face_index < 0 || index === face_index;
  return {
    ...body,
    image: {
      ...body.image,
      faces: body.image.faces.map((face, index) =>
        wanted(index) ? { ...face, embedding: base64(analysis.image.faces[index]!) } : face,
      ),
    },
    /** Needed to compare the embeddings. */
    embedding: {
      ...question.model,
      accuracy_mode,
      dimensions,
      encoding: 'float32-le-base64',
      normalised: true,
    },
    warnings: [
      ...body.warnings,
      ...body.image.faces.filter(({ index }) => wanted(index)).flatMap((face) => lowQuality('image', face)),
    ],
  };
}

/** The best of the pairs, and what the answer says of it. */
export function assessBest(pairs: readonly Pair[], calibration: Calibration, threshold_percent: number) {
  const best = pairs[0]!;
  return { best, ...assessPair(best, calibration, pairs.length, threshold_percent) };
}

/** What the answer says of the best of `pairs` pairs, rounded. */
export function assessPair(
  { similarity, normalised_similarity }: Pick<Pair, 'similarity' | 'normalised_similarity'>,
  calibration: Calibration,
  pairs: number,
  threshold_percent: number,
) {
  const verdict = calibration.assess(normalised_similarity, pairs);
  return {
    match: verdict.confidence_percent >= threshold_percent,
    confidence_percent: round(verdict.confidence_percent, 1),
    similarity: round(similarity, 4),
    false_match_rate: Number(verdict.false_match_rate.toPrecision(2)),
    extrapolated: verdict.extrapolated,
  };
}

export function timingsBody(queue_ms: number, stages: StageTimings, total_ms: number): Timings {
  return rounded({ queue: queue_ms, ...stages, total: total_ms }, 1);
}

/** A warning when the pack has no table: the answer does not pretend to have one. */
export function uncalibrated({ measured }: Calibration, { pack }: { pack: string }): Warning[] {
  if (measured) return [];
  const detail =
    `The pack ${pack} is not calibrated: how often strangers score this high is not known. ` +
    'confidence_percent is 40 × the similarity and cannot pass 40; facematch calibrate measures a table.';
  return [{ code: 'pack_not_calibrated', field: 'model', detail }];
}

/** Warnings when there are, or may be, faces that are not listed. */
export function incomplete(field: string, { look_cut_short, faces_left_out }: ImageReport): Warning[] {
  if (look_cut_short) {
    const detail = `The search for faces in ${field} took too long and was stopped: it may have faces that are not listed. Send a smaller image.`;
    return [
      { code: 'look_cut_short', field, detail },
      { code: 'faces_left_out', field, detail: `Not every face of ${field} may be listed: time ran out.` },
    ];
  }
  if (faces_left_out === undefined) return [];
  const detail =
    `${field} has ${faces_left_out} faces more than the ${maxFaces} largest, which are listed: ` +
    'send it in parts to have all of them.';
  return [{ code: 'faces_left_out', field, faces_left_out, detail }];
}

/** A warning when the threshold looks like a share of 1, as other services take it. */
export function thresholdBelowOne(threshold_percent: number): Warning[] {
  if (threshold_percent <= 0 || threshold_percent >= 1) return [];
  const detail =
    `The threshold is ${threshold_percent} %, which nearly all strangers reach. It runs from 0 to 100: ` +
    `if you mean ${threshold_percent} of 1, it is ${round(100 * threshold_percent, 4)}.`;
  return [{ code: 'threshold_below_one', field: 'threshold_percent', detail }];
}

/** Warnings about the face that was compared; `chosen` is the index that the caller gave, -1 for none. */
function comparedFace(field: ImageField, image: Image, chosen: number): Warning[] {
  return [...notTheLargest(field, image, chosen), ...lowQuality(field, image.faces[image.face_index]!)];
}

/** Decimals of the numbers in a face, by the member that they are, or are in. */
const decimals: Readonly<Record<string, number>> = {
  index: 0,
  box: 1,
  landmarks: 1,
  detection_score: 3,
  human_score: 1,
  occlusion_score: 1,
  live_score: 3,
  pose: 1,
  sharpness: 2,
  brightness: 2,
  face_pixels: 0,
  dot_pitch: 1,
  stretch: 2,
};

/** A value with all numbers in it rounded. */
function rounded<T>(value: T, digits: number): T {
  if (typeof value === 'number') return round(value, digits) as T;
  if (Array.isArray(value)) return value.map((item) => rounded(item, digits)) as T;
  if (typeof value !== 'object') return value;
  const members = Object.entries(value as object);
  return Object.fromEntries(
    members.map(([name, member]) => [name, rounded(member, decimals[name] ?? digits)]),
  ) as T;
}

/** An image and its faces in the answer's form. */
export function imageBody(report: ImageReport): Omit<Image, 'face_index'> {
  const { faces, look_cut_short: _, faces_left_out: __, ...image } = report;
  return { ...image, faces: faces.map(({ embedding: _, cohort_score: __, ...face }) => rounded(face, 0)) };
}

export function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  // Adding 0 turns -0 into 0.
  return Math.round(value * scale) / scale + 0;
}
