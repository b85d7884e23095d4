import type { Analysis } from '../engine/addon.ts';
import type { RankedEmbeddings } from '../engine/embeddings.ts';
import type { Outcome } from '../engine/pool.ts';
import { errorTable, Problem } from '../errors.ts';
import type { Calibration } from '../matching/calibration.ts';
import { compare, sum } from '../matching/compare.ts';
import { lowQuality, lowQualityProblem } from '../matching/face-quality.ts';
import { problemOf } from '../matching/faults.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import type { Form, Target } from './form.ts';
import {
  cutShort,
  imageBody,
  imageCounts,
  judgedBody,
  round,
  timingsBody,
  uncalibrated,
  verdictBody,
} from './match-result.ts';

/** One image against several → the answer of the contract. Each target gets a result of its own. */
interface ManyReport {
  request_id: string;
  form: Pick<Form, 'values' | 'warnings' | 'targets'>;
  /** The analysis of image1. */
  reference: Analysis;
  /** In the order of the form's images. */
  outcomes: readonly Outcome[];
  calibration: Calibration;
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

export type ManyBody = ReturnType<typeof manyBody>;

export function manyBody(report: ManyReport) {
  const { request_id, form, reference, outcomes, calibration, model, queue_ms, total_ms } = report;
  const { threshold_percent, accuracy_mode, image1_face_index } = form.values;
  const results = form.targets.map((target, index) => ({
    index,
    ...(target.filename === undefined ? {} : { filename: target.filename }),
    ...judgedTarget(report, target),
  }));
  const best = results
    .filter((result) => 'match' in result)
    .toSorted((a, b) => b.confidence_percent - a.confidence_percent)[0];
  const matches = results.filter((result) => 'match' in result && result.match).length;
  const image1 = {
    ...imageBody(reference.image),
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
      ...form.warnings,
      ...uncalibrated(calibration, model),
      ...cutShort('image1', reference.image),
      ...lowQuality('image1', image1.faces[image1.face_index]!),
      ...(matches > 1 ? [bestOfMany(form.targets.length)] : []),
    ],
    timings_ms: timingsBody(queue_ms, analysed.reduce(sum), total_ms),
  };
}

/** The result of a target, or its problem. */
function judgedTarget(report: ManyReport, target: Target) {
  try {
    return comparedTarget(report, target);
  } catch (error) {
    if (error instanceof Problem) return { problem: problemBody(error) };
    throw error;
  }
}

function comparedTarget({ form, reference, outcomes, calibration }: ManyReport, { image, name }: Target) {
  if (image instanceof Problem) throw image;
  const { values } = form;
  const result = compare([reference, outcomes[image]!], { ...values, image2_face_index: -1 });
  if (Array.isArray(result)) throw problemOf(result, name);
  const { match, confidence_percent, similarity, false_match_rate, extrapolated, best } = judgedBody(
    result.pairs,
    calibration,
    values.threshold_percent,
  );
  const image2 = { ...imageBody(result.image2), face_index: best.image2_face_index };
  const poor = lowQuality('image2', image2.faces[image2.face_index]!);
  const refusal = values.reject_low_quality ? lowQualityProblem(poor) : undefined;
  if (refusal) throw refusal;
  return {
    match,
    confidence_percent,
    similarity,
    false_match_rate,
    extrapolated,
    image1_face_index: best.image1_face_index,
    image2,
    pairs_compared: result.pairs.length,
    warnings: [...cutShort('image2', result.image2), ...poor],
  };
}

/** Like the problem of a request, without the field, which is clear from its place. */
function problemBody({ code, message, extras }: Problem) {
  const { detail: _, field: __, errors, ...members } = extras;
  const { status, title } = errorTable[code];
  const reasons = errors?.flatMap(({ reasons = [] }) => reasons) ?? [];
  return { code, status, title, detail: message, ...members, ...(reasons.length > 0 ? { reasons } : {}) };
}

function bestOfMany(targets: number) {
  const detail =
    'Each result stands for one comparison. If you take only the best of them, multiply its false_match_rate by ' +
    `${targets}: there were several chances of a false match.`;
  return { code: 'best_of_many' as const, field: 'image2', detail };
}

/** The lines of the audit log: one for each target. */
export function manyDecisions({ accuracy_mode, threshold_percent, results }: ManyBody): Decision[] {
  return results.map((result) => {
    const asked = { accuracy_mode, threshold_percent, target: result.index };
    if (!('match' in result)) return { ...asked, refused: result.problem.code };
    const { confidence_percent, match } = result;
    return { ...asked, confidence_percent, match };
  });
}

export function manyCounts({ accuracy_mode, image1, results }: ManyBody): MatchCounts {
  const judged = results.filter((result) => 'match' in result);
  const faceless = results.filter((result) => 'problem' in result && result.problem.code === 'no_face_found');
  return {
    verdicts: judged.map(({ match, confidence_percent }) => ({ accuracy_mode, match, confidence_percent })),
    images: [
      ...[image1, ...judged.map(({ image2 }) => image2)].map(imageCounts),
      ...faceless.map(() => ({ faces: 0, found_by: 'none' as const })),
    ],
  };
}

/** One embedding against many, as a worker ranked them → the answer of the contract. */
interface EmbeddingsReport {
  request_id: string;
  ranked: RankedEmbeddings;
  calibration: Calibration;
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

export type EmbeddingsBody = ReturnType<typeof embeddingsBody>;

export function embeddingsBody({
  request_id,
  ranked,
  calibration,
  model,
  queue_ms,
  total_ms,
}: EmbeddingsReport) {
  const { threshold_percent, accuracy_mode, searched, min_percent, limit } = ranked.values;
  const results = ranked.candidates
    .map(({ id, ...scores }) => ({ id, ...verdictBody(scores, calibration, searched, threshold_percent) }))
    .filter(({ confidence_percent }) => confidence_percent >= min_percent);
  return {
    request_id,
    threshold_percent,
    accuracy_mode,
    searched,
    // Best first. `matches` also counts those that `limit` leaves out.
    results: results.slice(0, limit),
    matches: results.filter(({ match }) => match).length,
    model,
    warnings: [
      ...ranked.unknown.map((name) => ({
        code: 'unknown_field' as const,
        field: `/${name}`,
        detail: 'The member was ignored: this endpoint does not know it. Look for a mistake in its name.',
      })),
      ...uncalibrated(calibration, model),
    ],
    timings_ms: { queue: round(queue_ms, 1), total: round(total_ms, 1) },
  };
}

/** The line of the audit log: one for all candidates. */
export function embeddingsDecision(body: EmbeddingsBody, candidates: number): Decision {
  const { accuracy_mode, threshold_percent, matches, results } = body;
  const best = results[0];
  return {
    accuracy_mode,
    threshold_percent,
    candidates,
    matches,
    ...(best && { confidence_percent: best.confidence_percent, match: best.match }),
  };
}
