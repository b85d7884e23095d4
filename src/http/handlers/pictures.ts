import type { Config } from '../../config.ts';
import type { AnalyseOptions } from '../../engine/addon.ts';
import type { Outcome } from '../../engine/pool.ts';
import { Problem } from '../../errors.ts';
import { type LowQualityFace, lowQualityProblem } from '../../matching/face-quality.ts';
import type { Context } from '../context.ts';
import { ClientLeft, type Reply } from '../exchange.ts';
import type { FormEndpoint } from '../fields.ts';
import { asProblem, type Form, readForm } from '../form.ts';
import { boundaryOf } from '../multipart.ts';
import { judgeHead, receiveBody, unclearEnd } from './body.ts';

const malformed = new Problem('invalid_multipart', { detail: unclearEnd });

/** A request with its pictures analysed. */
export interface Analysed {
  form: Form;
  /** In the order of the form's images. */
  outcomes: readonly Outcome[];
  queue_ms: number;
  /** From the last byte of the request until now. */
  elapsed_ms(): number;
}

/**
 * What every endpoint does that takes pictures: queue, declared length and type, body, form, pictures, in the contract's
 * order. `answer` judges the faces.
 */
export function withPictures(
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
  const pictures = form.images.map(({ start, end }) => body.subarray(start, end));
  // Embeddings that are given out are kept nowhere here.
  const ticket = engine.analyse(pictures, optionsOf(form, config), endpoint !== 'embed');
  context.idle = ticket.idle;
  exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  const { outcomes, queue_ms } = await ticket.done;
  context.timings_ms = { queue: Math.round(queue_ms * 10) / 10 };
  return { form, outcomes, queue_ms, elapsed_ms: () => performance.now() - arrived };
}

/** What a request has to pay beyond its route's price: a token for each target but the first. */
async function chargeFurther(context: Context, tokens: number): Promise<void> {
  const { scope, cost } = context.route!;
  if (scope !== 'none') context.obey(await context.check(scope, tokens, cost));
}

/** For who wants no poor face: throws the problem that stands for such warnings. */
export function refuseLowQuality(warnings: readonly ({ code: string } | LowQualityFace)[]): void {
  const refusal = lowQualityProblem(
    warnings.filter((warning): warning is LowQualityFace => warning.code === 'low_quality_face'),
  );
  if (refusal) throw refusal;
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
