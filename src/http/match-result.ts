import type { ImageReport, Point, StageTimings } from '../engine/addon.ts';
import type { Calibration } from '../matching/calibration.ts';
import type { Comparison, ImageFault, ImageField, Pair } from '../matching/compare.ts';
import { lowQuality } from '../matching/face-quality.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import type { Form } from './form.ts';

/** A comparison → the answer of the contract. The verdict uses exact numbers; they are rounded afterwards. */
interface MatchReport {
  request_id: string;
  form: Pick<Form, 'values' | 'warnings'>;
  result: Comparison;
  calibration: Calibration;
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

export function matchBody({ request_id, form, result, calibration, model, queue_ms, total_ms }: MatchReport) {
  const { values, warnings } = form;
  const { pairs } = result;
  const { best, ...judged } = judgedBody(pairs, calibration, values.threshold_percent);
  const image1 = { ...imageBody(result.image1), face_index: best.image1_face_index };
  const image2 = { ...imageBody(result.image2), face_index: best.image2_face_index };
  return {
    request_id,
    match: judged.match,
    confidence_percent: judged.confidence_percent,
    threshold_percent: values.threshold_percent,
    similarity: judged.similarity,
    false_match_rate: judged.false_match_rate,
    extrapolated: judged.extrapolated,
    accuracy_mode: values.accuracy_mode,
    image1,
    image2,
    pairs_compared: pairs.length,
    pairs: pairs.map((pair) => ({
      image1_face_index: pair.image1_face_index,
      image2_face_index: pair.image2_face_index,
      similarity: round(pair.similarity, 4),
      confidence_percent: round(
        calibration.judge(pair.normalised_similarity, pairs.length).confidence_percent,
        1,
      ),
    })),
    model,
    warnings: [
      ...warnings,
      ...uncalibrated(calibration, model),
      ...cutShort('image1', result.image1),
      ...cutShort('image2', result.image2),
      ...comparedFace('image1', image1),
      ...comparedFace('image2', image2),
    ],
    timings_ms: timingsBody(queue_ms, result.timings_ms, total_ms),
  };
}

/** The best of the pairs, and its verdict for the answer. */
export function judgedBody(pairs: readonly Pair[], calibration: Calibration, threshold_percent: number) {
  const best = pairs[0];
  if (best === undefined) throw new Error('The engine compared no pair');
  return { best, ...verdictBody(best, calibration, pairs.length, threshold_percent) };
}

/** The verdict on the best of `pairs` pairs, rounded for the answer. */
export function verdictBody(
  { similarity, normalised_similarity }: Pick<Pair, 'similarity' | 'normalised_similarity'>,
  calibration: Calibration,
  pairs: number,
  threshold_percent: number,
) {
  const judged = calibration.judge(normalised_similarity, pairs);
  return {
    match: judged.confidence_percent >= threshold_percent,
    confidence_percent: round(judged.confidence_percent, 1),
    similarity: round(similarity, 4),
    false_match_rate: Number(judged.false_match_rate.toPrecision(2)),
    extrapolated: judged.extrapolated,
  };
}

export function timingsBody(queue_ms: number, stages: StageTimings, total_ms: number) {
  return {
    queue: round(queue_ms, 1),
    decode: round(stages.decode, 1),
    detect: round(stages.detect, 1),
    align: round(stages.align, 1),
    embed: round(stages.embed, 1),
    total: round(total_ms, 1),
  };
}

export type MatchBody = ReturnType<typeof matchBody>;

/** A warning when the pack has no table: the answer does not pretend to have one. */
export function uncalibrated({ measured }: Calibration, { pack }: { pack: string }) {
  if (measured) return [];
  const detail =
    `The pack ${pack} is not calibrated: how often strangers score this high is not known. ` +
    'confidence_percent is 40 × the similarity and cannot pass 40; facematch calibrate measures a table.';
  return [{ code: 'pack_not_calibrated' as const, field: 'model', detail }];
}

interface LookCutShort {
  code: 'look_cut_short';
  field: string;
  detail: string;
}

/** A warning when there may be faces that were not found. */
export function cutShort(field: string, { look_cut_short }: ImageReport): LookCutShort[] {
  if (!look_cut_short) return [];
  const detail = `The search for faces in ${field} took too long and was stopped: it may have faces that are not listed. Send a smaller picture.`;
  return [{ code: 'look_cut_short', field, detail }];
}

/** Quality warnings about the face that was compared. */
function comparedFace(field: ImageField, { faces, face_index }: ImageBody & { face_index: number }) {
  const face = faces[face_index];
  if (face === undefined) throw new Error(`The engine compared a face of ${field} that it did not find`);
  return lowQuality(field, face);
}

export type ImageBody = ReturnType<typeof imageBody>;

/** An image and its faces in the answer's form, rounded. */
export function imageBody(image: ImageReport) {
  const { width, height, format, orientation, faces } = image;
  return {
    width,
    height,
    format,
    orientation,
    faces: faces.map(
      ({
        index,
        box,
        landmarks,
        detection_score,
        found_by,
        human_score,
        occlusion_score,
        pose,
        quality,
      }) => ({
        index,
        box: {
          x: round(box.x, 1),
          y: round(box.y, 1),
          width: round(box.width, 1),
          height: round(box.height, 1),
        },
        landmarks: {
          right_eye: roundPoint(landmarks.right_eye),
          left_eye: roundPoint(landmarks.left_eye),
          nose: roundPoint(landmarks.nose),
          mouth_right: roundPoint(landmarks.mouth_right),
          mouth_left: roundPoint(landmarks.mouth_left),
        },
        detection_score: round(detection_score, 3),
        found_by,
        ...(human_score === undefined ? {} : { human_score: round(human_score, 1) }),
        ...(occlusion_score === undefined ? {} : { occlusion_score: round(occlusion_score, 1) }),
        pose: { yaw: round(pose.yaw, 1), pitch: round(pose.pitch, 1), roll: round(pose.roll, 1) },
        quality: {
          sharpness: round(quality.sharpness, 2),
          brightness: round(quality.brightness, 2),
          face_pixels: Math.round(quality.face_pixels),
        },
      }),
    ),
  };
}

export function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  // Adding 0 turns -0 into 0.
  return Math.round(value * scale) / scale + 0;
}

function roundPoint([x, y]: Point): Point {
  return [round(x, 1), round(y, 1)];
}

/** The line of the audit log. */
export function matchDecision({
  accuracy_mode,
  threshold_percent,
  confidence_percent,
  match,
}: MatchBody): Decision {
  return { accuracy_mode, threshold_percent, confidence_percent, match };
}

export function matchCounts({
  accuracy_mode,
  match,
  confidence_percent,
  image1,
  image2,
}: MatchBody): MatchCounts {
  return {
    verdicts: [{ accuracy_mode, match, confidence_percent }],
    images: [imageCounts(image1), imageCounts(image2)],
  };
}

export function imageCounts({ faces }: ImageBody): MatchCounts['images'][number] {
  return { faces: faces.length, found_by: faces[0]?.found_by ?? 'none' };
}

/** What is counted when images without a face are refused; nothing is known of the others. Undefined when each has one. */
export function facelessCounts(faults: readonly ImageFault[]): MatchCounts | undefined {
  const faceless = faults.filter(({ code }) => code === 'no_face_found');
  if (faceless.length === 0) return undefined;
  return { verdicts: [], images: faceless.map(() => ({ faces: 0, found_by: 'none' })) };
}
