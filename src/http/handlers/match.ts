import type { Outcome } from '../../engine/pool.ts';
import { compare } from '../../matching/compare.ts';
import { facelessFindings, problemOf } from '../../matching/faults.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import { matchBody, matchFindings } from '../match-result.ts';
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
    context.findings = { ...findings, verdict: undefined };
    if (values.reject_low_quality) refuseLowQuality(found.warnings);
    context.findings = findings;
    return json(200, found, [serverTiming(found.timings_ms)]);
  });
}
