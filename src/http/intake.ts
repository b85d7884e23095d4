import type { Config } from '../config.ts';
import type { AnalyseOptions } from '../engine/addon.ts';
import type { Outcome } from '../engine/pool.ts';
import { Problem } from '../errors.ts';
import type { Context } from './context.ts';
import { ClientLeft, type Reply } from './exchange.ts';
import type { FormEndpoint } from './fields.ts';
import { asProblem, type Form, readForm } from './form.ts';
import { boundaryOf } from './multipart.ts';

/** What comes before an answer: head, body, form, and the analysis of the images. */

export const unclearEnd =
  'Send one Content-Length, or Transfer-Encoding: chunked, and not both: it is not clear where the body ends.';

const malformed = new Problem('invalid_multipart', { detail: unclearEnd });

/**
 * Checks a request by its head, in the contract's order, so that nothing is uploaded that cannot be served. `malformed` is
 * thrown when it is not clear where the body ends; `typeOf` checks the declared type. Throws Problem.
 */
export function judgeHead<T>(
  { services, exchange, origin }: Context,
  limit_bytes: number,
  malformed: Problem,
  typeOf: (contentType: string) => T,
): T {
  if (services.readiness.stage !== 'ready') throw new Problem('not_ready');
  if (services.engine.isFull(origin.owner)) throw new Problem('overloaded');
  const { framing, headers } = exchange.request;
  const declared = headers.get('content-length') ?? '';
  if (/^\d+$/.test(declared) && Number(declared) > limit_bytes) {
    throw new Problem('body_too_large', { limit_bytes });
  }
  if (framing === 'unclear') throw malformed;
  // RFC 9110 section 8.4: a coding that the server does not accept is 415.
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', { detail: 'Send the body without Content-Encoding.' });
  }
  return typeOf(headers.get('content-type') ?? '');
}

/** Call it before the first await: µWS drops a body that has no reader by then. */
export function receiveBody(context: Context, limit_bytes: number): Promise<Buffer> {
  const { services, exchange } = context;
  const { content_length, peer } = exchange.request;
  context.upload ??= services.uploads.open(context.key_id ?? peer, content_length, limit_bytes);
  return exchange.receive(context.upload);
}

/** A request with its images analysed. */
export interface Analysed {
  form: Form;
  /** In the order of the form's images. */
  outcomes: readonly Outcome[];
  queue_ms: number;
  /** Milliseconds from the last byte of the request until now. */
  elapsed_ms(): number;
}

/**
 * What every endpoint does that takes images: queue, declared length and type, body, form, images, in the contract's
 * order. `answer` turns the analysis into the reply.
 */
export function withImages(
  context: Context,
  endpoint: FormEndpoint,
  answer: (analysed: Analysed) => Reply,
): Promise<Reply> {
  const { max_body_bytes } = context.services.config;
  const boundary = judgeHead(context, max_body_bytes, malformed, declaredBoundary);
  return analyse(context, endpoint, boundary, receiveBody(context, max_body_bytes)).then(answer);
}

async function analyse(
  context: Context,
  endpoint: FormEndpoint,
  boundary: string,
  uploaded: Promise<Buffer>,
): Promise<Analysed> {
  const { services, exchange } = context;
  const { config, manifest, engine } = services;
  const body = await uploaded;
  const arrived = performance.now();
  const form = readForm(body, boundary, endpoint, config, manifest);
  if (form.targets.length > 1) await chargeFurther(context, form.targets.length - 1);
  if (!exchange.open) throw new ClientLeft();
  const images = form.images.map(({ start, end }) => body.subarray(start, end));
  // Images whose embeddings are given out are not cached.
  const ticket = engine.analyse(images, optionsOf(form, config), endpoint !== 'embed', context.origin);
  context.idle = ticket.idle;
  exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  const { outcomes, queue_ms } = await ticket.done;
  context.pictures = outcomes.length;
  context.timings_ms = { queue: Math.round(queue_ms * 10) / 10 };
  return { form, outcomes, queue_ms, elapsed_ms: () => performance.now() - arrived };
}

/** Charges what a request costs beyond its route's price: a token for each target after the first. Throws Problem. */
async function chargeFurther(context: Context, tokens: number): Promise<void> {
  const { scope } = context.route!;
  if (scope !== 'none') context.obey(await context.check(scope, tokens));
}

function declaredBoundary(contentType: string): string {
  let boundary: string | undefined;
  try {
    boundary = boundaryOf(contentType);
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
