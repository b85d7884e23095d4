import type { Config } from '../config/config.ts';
import type { Answered, EmbeddingsEndpoint, ImageEndpoint } from '../endpoints/endpoint.ts';
import type { Listed } from '../endpoints/index.ts';
import { analysisOptions } from '../endpoints/options.ts';
import {
  type EmbeddingsJob,
  maxJson_bytes,
  type RankedEmbeddings,
  rankingModule,
} from '../endpoints/rank-embeddings.ts';
import { JsonScan } from '../engine/json-scan.ts';
import { packFiles } from '../engine/manifest.ts';
import { Problem } from '../errors.ts';
import { type Form, readForm } from './body/form.ts';
import { readJsonForm } from './body/json-form.ts';
import { boundaryOf, endsForm } from './body/multipart.ts';
import type { Context } from './context.ts';
import { ClientLeft, type Expected, type Reply } from './exchange.ts';
import { ignoredQuery } from './request.ts';
import { documentReply, json, serverTiming } from './responses.ts';

/** Head, body, work, answer, in the contract's order. Throws a Problem, also later. Asks for the body before its first await. */
export function handleRequest(context: Context, endpoint: Listed): Reply | Promise<Reply> {
  const { exchange, services } = context;
  // What takes a body checks this in its order; any other answer could be cut short, as the connection ends with it.
  if (endpoint.method === 'GET' && exchange.request.framing === 'unclear') throw malformedForm;
  if ('document' in endpoint)
    return documentReply(context, services.documents(endpoint.id, exchange.request.query));
  switch (endpoint.takes) {
    case 'nothing': {
      const { manifest, engine } = services;
      return replyOf(context, endpoint.answer(manifest, packFiles(manifest), engine.addon.onnxRuntime()));
    }
    case 'images':
      return withImages(context, endpoint);
    case 'embeddings':
      return withEmbeddings(context, endpoint);
  }
}

const unclearEnd =
  'Send one Content-Length, or Transfer-Encoding: chunked, and not both: it is not clear where the body ends.';

const tooLarge = (bytes: number, limit_bytes: number) =>
  new Problem('body_too_large', {
    detail: `Send smaller images: the body has ${bytes} bytes; at most ${limit_bytes} are taken.`,
    limit_bytes,
  });

/**
 * Checks a request by its head, in the contract's order, so that nothing is uploaded that cannot be served, but for its type, which
 * it gives. Throws Problem: `malformed` when it is not clear where the body ends.
 */
function checkHead({ services, exchange, owner }: Context, limit_bytes: number, malformed: Problem): string {
  if (services.readiness.stage !== 'ready') throw new Problem('not_ready');
  if (services.engine.isFull(owner)) throw new Problem('overloaded');
  const { framing, headers, typed_twice } = exchange.request;
  const declared = headers.get('content-length') ?? '';
  if (/^\d+$/.test(declared) && Number(declared) > limit_bytes) {
    throw tooLarge(Number(declared), limit_bytes);
  }
  if (framing === 'unclear') throw malformed;
  // RFC 9110 section 8.4: a coding that the server does not accept is 415.
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', { detail: 'Send the body without Content-Encoding.' });
  }
  // A proxy may have read the other one.
  if (typed_twice) throw new Problem(malformed.code, { detail: 'Send one Content-Type header.' });
  return headers.get('content-type') ?? '';
}

/** Call it before the first await: µWS drops a body that has no reader by then. */
function receiveBody(context: Context, limit_bytes: number, expected: Expected): Promise<Buffer> {
  const { services, exchange } = context;
  context.upload ??= services.uploads.open(context.owner, exchange.request.content_length, limit_bytes);
  return exchange.receive(context.upload, expected);
}

const malformedForm = new Problem('invalid_multipart', { detail: unclearEnd });
const malformedJson = new Problem('invalid_json', { detail: unclearEnd, position: 0 });

/** Larger bodies are not read to see whether they have ended: that would take too long. */
const maxJsonLook_bytes = 1024 * 1024;

const expectedJson: Expected = {
  malformed: malformedJson,
  isWhole: (bytes) => {
    if (bytes.length > maxJsonLook_bytes || bytes.at(-1) !== 0x7d) return false;
    // Bounded, unlike JSON.parse, which takes long for many values or levels.
    const json = new JsonScan(bytes);
    try {
      json.skip();
      json.end();
      return true;
    } catch {
      return false;
    }
  },
};

/** Members of a JSON body besides its images. */
const jsonMembers_bytes = 64 * 1024;

/** Base64 makes four bytes of three: the same images fit in a form and in JSON. No more than one key may have in memory. */
export function bodyLimit(
  { max_body_bytes, max_upload_bytes }: Pick<Config, 'max_body_bytes' | 'max_upload_bytes'>,
  json: boolean,
): number {
  if (!json) return max_body_bytes;
  const share_bytes = Math.max(Math.floor(max_upload_bytes / 2), max_body_bytes);
  return Math.min(Math.ceil((max_body_bytes / 3) * 4) + jsonMembers_bytes, share_bytes);
}

export const isJson = (contentType = '') => /^application\/json\s*(?:;|$)/i.test(contentType.trim());

function withImages(context: Context, endpoint: ImageEndpoint): Promise<Reply> {
  const { config, engine, manifest } = context.services;
  const json = isJson(context.exchange.request.headers.get('content-type'));
  const limit_bytes = bodyLimit(config, json);
  const malformed = json ? malformedJson : malformedForm;
  const type = checkHead(context, limit_bytes, malformed);
  const boundary = json ? '' : boundaryOf(type);
  if (boundary === undefined) throw new Problem('unsupported_media_type');
  const read = (body: Buffer) =>
    json
      ? readJsonForm(body, endpoint, config, manifest, engine.addon.decodeBase64)
      : readForm(body, boundary, endpoint, config, manifest);
  const expected = json ? expectedJson : { malformed, isWhole: (bytes: Buffer) => endsForm(bytes, boundary) };
  return analyse(context, endpoint, read, receiveBody(context, limit_bytes, expected));
}

async function analyse(
  context: Context,
  endpoint: ImageEndpoint,
  read: (body: Buffer) => Form,
  uploaded: Promise<Buffer>,
): Promise<Reply> {
  const { services, exchange, request_id } = context;
  const { config, manifest, engine, model } = services;
  const body = await uploaded;
  const arrived = performance.now();
  const { images, targets, options, warnings } = read(body);
  const { scope } = context.endpoint!;
  // The endpoint's price is that of one target.
  if (targets.length > 1 && scope !== 'none') await context.charge.take(scope, targets.length - 1);
  if (!exchange.open) throw new ClientLeft();
  const names = Object.keys({ ...endpoint.fields, ...endpoint.advanced });
  const ignored = ignoredQuery(exchange.request.query, names);
  const { max_pixels, min_side, picture_ms } = config;
  const ticket = engine.analyse(
    images.map(({ start, end }) => body.subarray(start, end)),
    { ...analysisOptions(options), max_pixels, min_side, picture_ms },
    !endpoint.sensitive,
    context,
  );
  context.idle = ticket.idle;
  exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  const { outcomes, queue_ms } = await ticket.done;
  context.images = outcomes.length;
  context.timings_ms = { queue: Math.round(queue_ms * 10) / 10 };
  const total_ms = performance.now() - arrived;
  const answered = endpoint.answer({
    question: { request_id, options, warnings: [...ignored, ...warnings], model, queue_ms, total_ms },
    targets,
    outcomes,
    calibration: services.calibrations[options.accuracy_mode],
    dimensions: manifest.embedder.dimensions,
  });
  return replyOf(context, answered);
}

function withEmbeddings(context: Context, endpoint: EmbeddingsEndpoint): Promise<Reply> {
  const limit_bytes = Math.min(maxJson_bytes, context.services.config.max_body_bytes);
  if (!isJson(checkHead(context, limit_bytes, malformedJson))) {
    throw new Problem('unsupported_media_type', { detail: 'Send the body as application/json.' });
  }
  return rank(context, endpoint, limit_bytes, receiveBody(context, limit_bytes, expectedJson));
}

/** A worker parses the body and compares. */
async function rank(
  context: Context,
  endpoint: EmbeddingsEndpoint,
  limit_bytes: number,
  uploaded: Promise<Buffer>,
): Promise<Reply> {
  const { engine, manifest, model, calibrations } = context.services;
  const body = await uploaded;
  const arrived = performance.now();
  // A body that was held while a shared limiter was asked had the larger limit of a form.
  if (body.length > limit_bytes) throw tooLarge(body.length, limit_bytes);
  if (!context.exchange.open) throw new ClientLeft();
  const input: EmbeddingsJob = { body, ...model, dimensions: manifest.embedder.dimensions };
  const ticket = engine.work<RankedEmbeddings>({ module: rankingModule, input }, context);
  context.idle = ticket.idle;
  context.exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  const { outcomes, queue_ms } = await ticket.done;
  const outcome = outcomes[0]!;
  if (!outcome.ok) throw new Problem(outcome.code, outcome.extras);
  const ranked = outcome.result;
  const { request_id } = context;
  const warnings = ignoredQuery(context.exchange.request.query, endpoint.members);
  const answered = endpoint.answer({
    question: { request_id, warnings, model, queue_ms, total_ms: performance.now() - arrived },
    ranked,
    calibration: calibrations[ranked.values.accuracy_mode],
  });
  return replyOf(context, answered);
}

/** Notes what is recorded of an answer. Throws it when it is a refusal. */
function replyOf(context: Context, answered: Answered): Reply {
  context.counts = answered.counts ?? [];
  const { timings_ms } = 'refusal' in answered ? answered : answered.body;
  context.timings_ms = timings_ms ?? context.timings_ms;
  if ('refusal' in answered) throw answered.refusal;
  context.decisions = answered.decisions ?? [];
  return json(200, answered.body, timings_ms === undefined ? [] : [serverTiming(timings_ms)]);
}
