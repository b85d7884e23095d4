import type { Analysis } from '../../engine/addon.ts';
import type { Outcome } from '../../engine/pool.ts';
import { compare, faultsOf } from '../../matching/compare.ts';
import { problemOf } from '../../matching/faults.ts';
import type { Decision, MatchCounts } from '../../telemetry/record.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import { type ManyBody, manyBody, manyCounts, manyDecisions } from '../many-result.ts';
import { facelessCounts, type MatchBody, matchBody, matchCounts, matchDecision } from '../match-result.ts';
import { json, serverTiming } from '../responses.ts';
import { type Analysed, refuseLowQuality, withPictures } from './pictures.ts';

/** Both match endpoints. */
export function match(context: Context, endpoint: 'match' | 'match_advanced'): Promise<Reply> {
  return withPictures(context, endpoint, (analysed) => {
    const result = compare(analysed.outcomes as [Outcome, Outcome], analysed.form.values);
    if (Array.isArray(result)) {
      context.counts = facelessCounts(result);
      throw problemOf(result);
    }
    const body = matchBody({ ...reportOf(context, analysed), result });
    return told(context, analysed, body, matchCounts(body), [matchDecision(body)]);
  });
}

/** One picture against several. What is wrong with the first is the request's fault, with another one that one's. */
export function matchMany(context: Context): Promise<Reply> {
  return withPictures(context, 'match_many', (analysed) => {
    const { form, outcomes } = analysed;
    const faults = faultsOf('image1', outcomes[0]!, form.values.image1_face_index);
    if (faults.length > 0) {
      context.counts = facelessCounts(faults);
      throw problemOf(faults);
    }
    const reference = outcomes[0] as Analysis;
    const body = manyBody({ ...reportOf(context, analysed), reference, outcomes });
    return told(context, analysed, body, manyCounts(body), manyDecisions(body));
  });
}

function reportOf({ request_id, services }: Context, { form, queue_ms, elapsed_ms }: Analysed) {
  const calibration = services.calibrations[form.values.accuracy_mode];
  return { request_id, form, calibration, model: services.model, queue_ms, total_ms: elapsed_ms() };
}

function told(
  context: Context,
  { form }: Analysed,
  body: MatchBody | ManyBody,
  counts: MatchCounts,
  decisions: readonly Decision[],
): Reply {
  context.timings_ms = body.timings_ms;
  // Nobody is told a refused verdict, so none is counted.
  context.counts = { ...counts, verdicts: [] };
  if (form.values.reject_low_quality) refuseLowQuality(body.warnings);
  context.counts = counts;
  context.decisions = decisions;
  return json(200, body, [serverTiming(body.timings_ms)]);
}
