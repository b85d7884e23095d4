import type { Answered, EmbeddingsEndpoint, ImageEndpoint } from '../endpoints/endpoint.ts';
import type { Listed } from '../endpoints/index.ts';
import { analysisOptions } from '../endpoints/options.ts';
import {
  type EmbeddingsJob,
  maxJson_bytes,
  type RankedEmbeddings,
  rankingModule,
} from '../endpoints/rank-embeddings.ts';
import { packFiles } from '../engine/manifest.ts';
import { Problem } from '../errors.ts';
import { type Form, readForm } from './body/form.ts';
import { readJsonForm } from './body/json-form.ts';
import { bodyLimit, expectedJson, isJson, malformedForm, malformedJson, tooLarge } from './body/kinds.ts';
import { boundaryOf, endsForm } from './body/multipart.ts';
import { Context, type Services } from './context.ts';
import { ClientLeft, type Exchange, type Expected, type Reply } from './exchange.ts';
import { ignoredQuery } from './request.ts';
import { Cors, documentReply, json, problem, serverTiming } from './responses.ts';
import { Router } from './router.ts';

/** Checks each request in the contract's order (endpoint, key, scope, rate), handles it, and answers, logs and counts it once. */
export class Pipeline {
  readonly #services: Services;
  readonly #router: Router;
  readonly #cors: Cors;
  unanswered = 0;
  #lastHead_ms = Number.NEGATIVE_INFINITY;
  /** Requests that are answered while the rest of their body is still coming. */
  #discarding = 0;

  constructor(services: Services) {
    this.#services = services;
    this.#router = new Router(services.config.endpoints);
    this.#cors = new Cors(services.config.cors_origins);
  }

  /** How long no request has come; 0 while one is answered or its body is still coming. */
  get quiet_ms(): number {
    const isBusy = this.unanswered > 0 || this.#discarding > 0;
    return isBusy ? 0 : performance.now() - this.#lastHead_ms;
  }

  /** Never throws. */
  handle(exchange: Exchange): void {
    this.unanswered += 1;
    this.#lastHead_ms = exchange.started;
    const context = new Context(exchange, this.#services);
    try {
      const reply = this.#route(context);
      if (reply instanceof Promise) {
        reply.then(
          (late) => this.#send(context, late),
          (error: unknown) => this.#fail(context, error),
        );
      } else {
        this.#send(context, reply);
      }
    } catch (error) {
      this.#fail(context, error);
    }
  }

  /** Throws a Problem, or rejects with it. */
  #route(context: Context): Reply | Promise<Reply> {
    const { request } = context.exchange;
    for (const header of this.#cors.headers(request)) context.headers.push(header);
    if (request.method === 'OPTIONS' && request.framing !== 'unclear') {
      const preflight = this.#cors.preflight(request, this.#router.methods(request.path));
      if (preflight) return { status: 204, headers: preflight, body: '' };
    }
    const endpoint = this.#router.find(request.method, request.path);
    context.endpoint = endpoint;
    if (this.#services.readiness.stage === 'draining') throw new Problem('shutting_down');
    // RFC 9110 section 10.1.1.
    const expect = request.headers.get('expect') ?? '100-continue';
    if (expect.toLowerCase() !== '100-continue') throw new Problem('expectation_failed');
    if (endpoint.scope === 'none') return handleRequest(context, endpoint);
    const admission = context.charge.take(endpoint.scope, endpoint.price);
    if (admission === undefined) return handleRequest(context, endpoint);
    if (request.framing === 'unclear' && endpoint.method === 'POST') {
      // µWS closes the connection right after this callback; handling it refuses such a request in any case.
      admission.catch(() => {});
      return handleRequest(context, endpoint);
    }
    return this.#handleAdmitted(context, endpoint, admission);
  }

  /** Waits for a shared limiter; meanwhile the arriving body is kept. */
  async #handleAdmitted(context: Context, endpoint: Listed, admission: Promise<void>): Promise<Reply> {
    const { config, uploads } = this.#services;
    const { content_length, headers } = context.exchange.request;
    const limit = bodyLimit(config, isJson(headers.get('content-type')));
    if (endpoint.method === 'POST' && (content_length ?? 0) <= limit) {
      try {
        context.upload = uploads.open(context.owner, content_length, limit);
        context.exchange.hold(context.upload);
      } catch (error) {
        // A body without room is not kept, and the request is refused later.
        if (!(error instanceof Problem)) throw error;
      }
    }
    await admission;
    return handleRequest(context, endpoint);
  }

  #fail(context: Context, error: unknown): void {
    const refusal = error instanceof Problem ? error : new Problem('internal_error');
    const fault = error === refusal || error instanceof ClientLeft ? undefined : error;
    if (refusal.code === 'method_not_allowed') {
      context.headers.push(['Allow', this.#router.methods(context.exchange.request.path).join(', ')]);
    }
    if (refusal.status === 503) context.charge.giveBack();
    this.#send(context, problem(refusal, context.request_id, context.charge.retry_s), refusal, fault);
  }

  #send(context: Context, reply: Reply, refusal?: Problem, fault?: unknown): void {
    const { charge, endpoint, exchange, headers } = context;
    let { status } = reply;
    let code: string | undefined = refusal?.code;
    headers.push(['Cache-Control', endpoint && 'document' in endpoint && !refusal ? cacheable : 'no-store']);
    headers.push(...charge.headers);
    // After a 408 the rest of the body may come at any time or never (RFC 9110 section 15.5.9).
    const close = this.#services.readiness.stage === 'draining' || code === 'upload_timeout';
    charge.leave();
    try {
      if (!exchange.reply(reply, headers, close)) {
        // nginx's status for a client that left.
        status = 499;
        code = 'client_left';
      }
    } catch (error) {
      // The connection has ended; the request is still counted, and nothing is thrown into nowhere.
      status = 500;
      code = 'internal_error';
      fault = error;
    }
    this.#services.telemetry.finished({
      request_id: context.request_id,
      trace_id: context.trace_id,
      client: context.client,
      key_id: charge.key_id,
      key_name: charge.key?.name,
      pictures: context.images,
      route: endpoint?.id ?? 'none',
      status,
      code,
      field: refusal && fieldOf(refusal),
      reason: refusal?.reason,
      bytes: exchange.received,
      duration_ms: performance.now() - exchange.started,
      timings_ms: context.timings_ms,
      fault: fault === undefined ? undefined : faultOf(fault),
      counts: context.counts,
      decisions: context.decisions,
    });
    void context.idle.then(() => context.upload?.release());
    this.unanswered -= 1;
    if (!exchange.discarding) return;
    this.#discarding += 1;
    exchange.onDiscarded(() => {
      this.#discarding -= 1;
    });
  }
}

/** Unlike other answers, a document may be cached: it changes only when the server restarts. */
const cacheable = 'public, max-age=300';

/** What was refused, by our names: a field that was sent twice may have any name, so it is not logged. */
function fieldOf({ code, extras: { field, errors } }: Problem): string | undefined {
  if (code === 'duplicate_field') return undefined;
  return field ?? errors?.map((one) => one.field).join(', ');
}

function faultOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Head, body, work, answer, in the contract's order. Throws a Problem, also later. Asks for the body before its first await. */
function handleRequest(context: Context, endpoint: Listed): Reply | Promise<Reply> {
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
