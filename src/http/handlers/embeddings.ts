import { mostJson_bytes } from '../../engine/embeddings.ts';
import { Problem } from '../../errors.ts';
import type { Context } from '../context.ts';
import { embeddingsBody } from '../embeddings-result.ts';
import { ClientLeft, type Reply } from '../exchange.ts';
import { json, serverTiming } from '../responses.ts';
import { judgeHead, receiveBody, unclearEnd } from './body.ts';

const malformed = new Problem('invalid_json', { detail: unclearEnd, position: 0 });

/** One embedding against many. A worker reads the body and compares; the verdicts are given here. */
export function matchEmbeddings(context: Context): Promise<Reply> {
  const limit = Math.min(mostJson_bytes, context.services.config.max_body_bytes);
  judgeHead(context, limit, malformed, requireJson);
  return answer(context, limit, receiveBody(context, limit));
}

function requireJson(contentType: string): void {
  if (/^application\/json\s*(?:;|$)/i.test(contentType.trim())) return;
  throw new Problem('unsupported_media_type', { detail: 'Send the body as application/json.' });
}

async function answer(context: Context, limit: number, uploaded: Promise<Buffer>): Promise<Reply> {
  const { engine, manifest, model, calibrations } = context.services;
  const body = await uploaded;
  const arrived = performance.now();
  // What was kept while another process was asked had the larger limit of a form.
  if (body.length > limit) throw new Problem('body_too_large', { limit_bytes: limit });
  if (!context.exchange.open) throw new ClientLeft();
  const ticket = engine.rank({ body, ...model, dimensions: manifest.embedder.dimensions });
  context.idle = ticket.idle;
  context.exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  const { outcomes, queue_ms } = await ticket.done;
  const outcome = outcomes[0]!;
  if (!outcome.ok) throw new Problem(outcome.code, outcome.extras);
  const found = embeddingsBody({
    request_id: context.request_id,
    ranked: outcome,
    calibration: calibrations[outcome.values.accuracy_mode],
    model,
    queue_ms,
    total_ms: performance.now() - arrived,
  });
  context.timings_ms = found.timings_ms;
  const { accuracy_mode, threshold_percent, matches } = found;
  const candidates = outcome.candidates.length;
  const best = found.results[0];
  context.decisions = [
    {
      accuracy_mode,
      threshold_percent,
      candidates,
      matches,
      ...(best && { confidence_percent: best.confidence_percent, match: best.match }),
    },
  ];
  return json(200, found, [serverTiming(found.timings_ms)]);
}
