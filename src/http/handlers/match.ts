import type { Config } from '../../config.ts';
import type { AnalyseOptions } from '../../engine/addon.ts';
import type { Outcome } from '../../engine/pool.ts';
import { Problem } from '../../errors.ts';
import { compare } from '../../matching/compare.ts';
import { lowQualityProblem } from '../../matching/face-quality.ts';
import { facelessFindings, problemOf } from '../../matching/faults.ts';
import type { Context } from '../context.ts';
import { ClientLeft, type Reply } from '../exchange.ts';
import type { MatchEndpoint } from '../fields.ts';
import { asProblem, type Form, readForm } from '../form.ts';
import { matchBody, matchFindings } from '../match-result.ts';
import { boundaryOf } from '../multipart.ts';
import type { Request } from '../request.ts';
import { json, serverTiming } from '../responses.ts';

/** Both match endpoints: queue, declared length and type, body, form, pictures, faces, in the contract's order. */
export function match(context: Context, endpoint: MatchEndpoint): Promise<Reply> {
  const { services, exchange } = context;
  const { config, engine, uploads } = services;
  // Before the body is read: what cannot be served must not be uploaded.
  if (services.readiness.stage !== 'ready') throw new Problem('not_ready');
  if (engine.full) throw new Problem('overloaded');
  checkLength(exchange.request, config.max_body_bytes);
  const boundary = declaredBoundary(exchange.request);
  const { content_length, peer } = exchange.request;
  context.upload ??= uploads.open(context.key_id ?? peer, content_length, config.max_body_bytes);
  // Called here and not after an await: µWS drops a body that nobody has asked for.
  return answer(context, endpoint, boundary, exchange.receive(context.upload));
}

async function answer(
  context: Context,
  endpoint: MatchEndpoint,
  boundary: string,
  uploaded: Promise<Buffer>,
): Promise<Reply> {
  const { services, exchange, request_id } = context;
  const { config, manifest } = services;
  const body = await uploaded;
  const arrived = performance.now();
  const form = readForm(body, boundary, endpoint, config, manifest);
  if (!exchange.open) throw new ClientLeft();
  const pictures = [form.image1, form.image2].map(({ start, end }) => body.subarray(start, end));
  const ticket = services.engine.analyse(pictures, optionsOf(form, config));
  context.idle = ticket.idle;
  exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  const { outcomes, queue_ms } = await ticket.done;
  context.timings_ms = { queue: Math.round(queue_ms * 10) / 10 };
  const result = compare(outcomes as [Outcome, Outcome], form.values);
  if (Array.isArray(result)) {
    context.findings = facelessFindings(result);
    throw problemOf(result);
  }
  const found = matchBody({
    request_id,
    form,
    result,
    calibration: services.calibrations[form.values.accuracy_mode],
    model: { pack: manifest.name, version: manifest.version },
    queue_ms,
    total_ms: performance.now() - arrived,
  });
  context.timings_ms = found.timings_ms;
  const findings = matchFindings(found);
  const poor = found.warnings.filter((warning) => warning.code === 'low_quality_face');
  const refusal = form.values.reject_low_quality ? lowQualityProblem(poor) : undefined;
  // Nobody is told a verdict, so none is counted.
  context.findings = refusal ? { ...findings, verdict: undefined } : findings;
  if (refusal) throw refusal;
  return json(200, found, [serverTiming(found.timings_ms)]);
}

/** Content-Length is judged before a byte of the body is read. */
function checkLength({ framing, headers }: Request, limit_bytes: number): void {
  const declared = headers.get('content-length') ?? '';
  if (/^\d+$/.test(declared) && Number(declared) > limit_bytes) {
    throw new Problem('body_too_large', { limit_bytes });
  }
  if (framing === 'unclear') {
    throw new Problem('invalid_multipart', {
      detail:
        'Send one Content-Length, or Transfer-Encoding: chunked, and not both: it is not clear where the body ends.',
    });
  }
}

function declaredBoundary({ headers }: Request): string {
  // RFC 9110 section 8.4: a coding that the server does not accept is 415.
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', { detail: 'Send the form without Content-Encoding.' });
  }
  let boundary: string | undefined;
  try {
    boundary = boundaryOf(headers.get('content-type') ?? '');
  } catch (error) {
    throw asProblem(error);
  }
  if (boundary === undefined) throw new Problem('unsupported_media_type');
  return boundary;
}

function optionsOf({ values }: Form, { max_pixels, min_side, picture_ms }: Config): AnalyseOptions {
  const { accuracy_mode, min_det_score, use_heuristic_fallback } = values;
  return { accuracy_mode, min_det_score, use_heuristic_fallback, max_pixels, min_side, picture_ms };
}
