import type { Analysis } from '../../engine/addon.ts';
import type { Outcome } from '../../engine/pool.ts';
import { compare, faultsOf } from '../../matching/compare.ts';
import { facelessFindings, problemOf } from '../../matching/faults.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import { manyBody, manyDecisions, manyFindings } from '../many-result.ts';
import { matchBody, matchDecision, matchFindings } from '../match-result.ts';
import { json, serverTiming } from '../responses.ts';
import { refuseLowQuality, withPictures } from './pictures.ts';

/** Both match endpoints. */
export function match(context: Context, endpoint: 'match' | 'match_advanced'): Promise<Reply> {
  const { manifest, calibrations } = context.services;
  return withPictures(context, endpoint, ({ form, outcomes, queue_ms, elapsed_ms }) => {
    const { values } = form;
    const result = compare(outcomes as [Outcome, Outcome], values);
    if (Array.isArray(result)) {
      context.findings = facelessFindings(result);
      throw problemOf(result);
    }
    const found = matchBody({
      request_id: context.request_id,
      form,
      result,
      calibration: calibrations[values.accuracy_mode],
      model: { pack: manifest.name, version: manifest.version },
      queue_ms,
      total_ms: elapsed_ms(),
    });
    context.timings_ms = found.timings_ms;
    const findings = matchFindings(found);
    // Nobody is told a refused verdict, so none is counted.
    context.findings = { ...findings, verdicts: [] };
    if (values.reject_low_quality) refuseLowQuality(found.warnings);
    context.findings = findings;
    context.decisions = [matchDecision(found)];
    return json(200, found, [serverTiming(found.timings_ms)]);
  });
}

/** One picture against several. What is wrong with the first is the request's fault, with another one that one's. */
export function matchMany(context: Context): Promise<Reply> {
  const { manifest, calibrations } = context.services;
  return withPictures(context, 'match_many', ({ form, outcomes, queue_ms, elapsed_ms }) => {
    const { values } = form;
    const faults = faultsOf('image1', outcomes[0]!, values.image1_face_index);
    if (faults.length > 0) {
      context.findings = facelessFindings(faults);
      throw problemOf(faults);
    }
    const body = manyBody({
      request_id: context.request_id,
      form,
      reference: outcomes[0] as Analysis,
      outcomes,
      calibration: calibrations[values.accuracy_mode],
      model: { pack: manifest.name, version: manifest.version },
      queue_ms,
      total_ms: elapsed_ms(),
    });
    context.timings_ms = body.timings_ms;
    const findings = manyFindings(body);
    context.findings = { ...findings, verdicts: [] };
    if (values.reject_low_quality) refuseLowQuality(body.warnings);
    context.findings = findings;
    context.decisions = manyDecisions(body);
    return json(200, body, [serverTiming(body.timings_ms)]);
  });
}
