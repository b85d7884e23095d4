import { QuotaUse } from '../auth/gate.ts';
import { Comparisons } from '../endpoints/comparison.ts';
import type { HandlerResult, PersonsStep } from '../endpoints/endpoint.ts';
import type { Form } from '../endpoints/form.ts';
import { analysisOptions } from '../endpoints/options.ts';
import type { Sender } from '../engine/engine.ts';
import { packFiles } from '../engine/pack-files.ts';
import type { Ticket } from '../engine/queue.ts';
import { inTurns } from '../engine/turns.ts';
import { Problem } from '../errors.ts';
import { type Body, malformedForm } from './body/kinds.ts';
import { Context, type Services } from './context.ts';
import { ClientLeft, type Exchange, type Reply } from './exchange.ts';
import { ignoredQuery } from './request.ts';
import { Cors, documentReply, json, problem, serverTiming } from './responses.ts';
import { type EmbeddingsRoute, type ImagesRoute, type Route, Router } from './router.ts';

/**
 * Handles a request in the contract's order: headers, key, scope, price, body, form, work, response, record.
 */
export class Pipeline {
  readonly #services: Services;
  readonly #router: Router;
  readonly #cors: Cors;
  unanswered = 0;
  /** In-flight requests, including those whose body is still arriving after the response. */
  #open = 0;
  #lastRequest_ms = Number.NEGATIVE_INFINITY;

  constructor(services: Services) {
    this.#services = services;
    this.#router = new Router(services);
    this.#cors = new Cors(services.config.cors_origins);
  }

  /** Milliseconds without a request; 0 while one is in flight or its body is still arriving. */
  get quiet_ms(): number {
    const isBusy = this.unanswered > 0 || this.#open > 0;
    return isBusy ? 0 : performance.now() - this.#lastRequest_ms;
  }

  /** Responds to a request, logs and counts it once. Never throws. */
  readonly handle = (exchange: Exchange): void => {
    this.unanswered += 1;
    this.#open += 1;
    exchange.onOver(() => {
      this.#open -= 1;
    });
    this.#lastRequest_ms = exchange.started;
    const context = new Context(exchange, this.#services);
    try {
      const reply = this.#admit(context);
      if (reply instanceof Problem) {
        this.#reject(context, reply);
      } else if (reply instanceof Promise) {
        reply.then(
          (late) => this.#reply(context, late),
          (error: unknown) => this.#reject(context, error),
        );
      } else {
        this.#reply(context, reply);
      }
    } catch (error) {
      this.#reject(context, error);
    }
  };

  /** Checks headers, key, scope and price. Returns or throws a Problem, or rejects with it. */
  #admit(context: Context): Reply | Problem | Promise<Reply> {
    const { request } = context.exchange;
    context.headers.push(...this.#cors.headers(request));
    if (request.method === 'OPTIONS' && request.framing !== 'unclear') {
      const preflight = this.#cors.preflight(request, this.#router.methods(request.path));
      if (preflight) return { status: 204, headers: preflight, body: '' };
    }
    const route = this.#router.find(request.method, request.path);
    context.endpoint = route.endpoint;
    if (this.#services.readiness.stage === 'draining') throw new Problem('shutting_down');
    // RFC 9110 section 10.1.1.
    const expect = request.headers.get('expect') ?? '100-continue';
    if (expect.toLowerCase() !== '100-continue') throw new Problem('expectation_failed');
    const { scope } = route.endpoint;
    if (scope === 'none') return serve(context, route);
    context.quota = new QuotaUse(this.#services.gate, request);
    const admission = context.quota.admit(scope, 1);
    if (admission instanceof Problem) return admission;
    if (admission === undefined) return serve(context, route);
    if (request.framing === 'unclear' && route.takes !== 'nothing') {
      // µWS closes the connection right after this callback, and `serve` rejects such a request in any case.
      admission.catch(() => {});
      return serve(context, route);
    }
    holdBody(context, route);
    return admission.then((rejection) => {
      if (rejection) throw rejection;
      return serve(context, route);
    });
  }

  #reject(context: Context, error: unknown): void {
    const rejection = error instanceof Problem ? error : new Problem('internal_error');
    const fault = error === rejection || error instanceof ClientLeft ? undefined : error;
    if (rejection.code === 'method_not_allowed') {
      context.headers.push(['Allow', this.#router.methods(context.exchange.request.path).join(', ')]);
    }
    if (rejection.status === 503) context.giveBack();
    this.#reply(context, problem(rejection, context.request_id, context.quota?.retry_s), rejection, fault);
  }

  #reply(context: Context, reply: Reply, rejection?: Problem, fault?: unknown): void {
    const { quota, endpoint, exchange, headers } = context;
    headers.push([
      'Cache-Control',
      endpoint && 'document' in endpoint && !rejection ? cacheable : 'no-store',
    ]);
    if (quota !== undefined) headers.push(...quota.release());
    // After a 408 the rest of the body may arrive at any time or never (RFC 9110 section 15.5.9).
    const close = this.#services.readiness.stage === 'draining' || rejection?.code === 'upload_timeout';
    try {
      const isSent = exchange.reply(reply, headers, close);
      // nginx's status for a client that left.
      const [status, code] = isSent ? [reply.status, rejection?.code] : [499, 'client_left'];
      this.#record(context, status, code, rejection, fault);
    } catch (error) {
      // The connection has ended, but the request is still counted, and no rejection stays unhandled.
      this.#record(context, 500, 'internal_error', rejection, error);
    }
    void context.idle.then(() => context.upload?.release());
    this.unanswered -= 1;
  }

  /** Never throws. */
  #record(
    context: Context,
    status: number,
    code: string | undefined,
    rejection: Problem | undefined,
    fault: unknown,
  ): void {
    const { quota, endpoint, exchange } = context;
    this.#services.telemetry.finished({
      request_id: context.request_id,
      trace_id: context.trace_id,
      client: context.client,
      key_id: quota?.key_id,
      route: endpoint?.id ?? 'none',
      status,
      code,
      field: rejection && fieldOf(rejection),
      reason: rejection?.reason,
      request_bytes: exchange.received,
      duration_ms: performance.now() - exchange.started,
      timings_ms: context.timings_ms,
      error: fault === undefined ? undefined : faultOf(fault),
      tally: {
        key_name: quota?.key?.name,
        images: context.images,
        counts: context.counts,
        decisions: context.decisions,
      },
    });
  }
}

/** Unlike other responses, a document may be cached: it changes only when the server restarts. */
const cacheable = 'public, max-age=300';

/** Field of a rejection, for the log. With these two codes the client chose the name, so it is not logged. */
function fieldOf({ code, extras: { field, errors } }: Problem): string | undefined {
  if (code === 'duplicate_field' || code === 'unknown_file') return undefined;
  return field ?? errors?.map((one) => one.field).join(', ');
}

function faultOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Keeps the arriving body while waiting for a shared limiter. */
function holdBody(context: Context, route: Route): void {
  const { services, exchange, owner } = context;
  const { content_length, headers } = exchange.request;
  if (route.takes === 'nothing') return;
  const { limit_bytes } = route.body(headers.get('content-type'));
  if ((content_length ?? 0) > limit_bytes) return;
  try {
    context.upload = services.uploads.open(owner, content_length, limit_bytes);
    exchange.hold(context.upload);
  } catch (error) {
    // A body without room is not kept, and the request is rejected later.
    if (!(error instanceof Problem)) throw error;
  }
}

/** Processes body, form, work and response. Throws a Problem, or rejects with it. */
function serve(context: Context, route: Route): Reply | Promise<Reply> {
  const { exchange, services } = context;
  const { request } = exchange;
  switch (route.takes) {
    case 'images':
      return readBody(context, route, analyse);
    case 'embeddings':
      return readBody(context, route, compare);
    case 'nothing': {
      // Any other response could be cut short, because the connection ends with it.
      if (request.framing === 'unclear') throw malformedForm;
      const { endpoint } = route;
      if ('document' in endpoint)
        return documentReply(request, services.documents(endpoint.id, request.query));
      const { manifest, engine, challenges } = services;
      const result = endpoint.buildResponse({
        request_id: context.request_id,
        manifest,
        files: () => packFiles(manifest),
        runtime: () => engine.addon.onnxRuntime(),
        newChallenge: () => challenges.issue(context.owner),
      });
      return replyOf(context, result, endpoint.success.status);
    }
  }
}

interface Received<Sent> {
  sent: Sent;
  bytes: Buffer;
  /** performance.now() when its last byte arrived. */
  arrived: number;
}

/** Receives and parses a body after its headers are accepted, then runs the work. */
function readBody<Sent, R extends { body(type: string | undefined): Body<Sent> }>(
  context: Context,
  route: R,
  work: (context: Context, route: R, received: Received<Sent>) => Promise<Reply>,
): Promise<Reply> {
  const { services, exchange, owner, quota } = context;
  const { headers, content_length } = exchange.request;
  const type = headers.get('content-type');
  const body = route.body(type);
  checkBeforeBody(context, body);
  const { isWhole, read } = body.reader(type ?? '');
  context.upload ??= services.uploads.open(owner, content_length, body.limit_bytes);
  exchange.onOver(services.engine.arrived(owner));
  // Called before the first await, because µWS drops a body that has no reader by then.
  const received = exchange.receive(context.upload, { malformed: body.malformed, isWhole });
  return received.then(async (bytes) => {
    const arrived = performance.now();
    const check = () => {
      if (!exchange.open) throw new ClientLeft();
    };
    const sent = await inTurns(read(bytes), check, (ms) => quota?.spend(ms));
    return work(context, route, { sent, bytes, arrived });
  });
}

/** Checks in the contract's order, so that no body is uploaded that cannot be processed. Throws a Problem. */
function checkBeforeBody({ services, exchange, owner }: Context, body: Body<unknown>): void {
  const { limit_bytes, malformed, smaller } = body;
  if (services.readiness.stage !== 'ready') throw new Problem('not_ready');
  if (services.engine.isFull(owner)) throw new Problem('overloaded');
  const { framing, headers, has_duplicate_type } = exchange.request;
  const declared = headers.get('content-length') ?? '';
  if (/^\d+$/.test(declared) && Number(declared) > limit_bytes) {
    const detail = `${smaller}: the body has ${Number(declared)} bytes; at most ${limit_bytes} are taken.`;
    throw new Problem('body_too_large', { detail, limit_bytes });
  }
  if (framing === 'unclear') throw malformed;
  // RFC 9110 section 8.4: an unsupported content coding gets 415.
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', { detail: 'Send the body without Content-Encoding.' });
  }
  // A proxy may have read the other header.
  if (has_duplicate_type) throw new Problem(malformed.code, { detail: 'Send one Content-Type header.' });
}

async function analyse(
  context: Context,
  { endpoint, rules }: ImagesRoute,
  { sent, bytes, arrived }: Received<Form>,
): Promise<Reply> {
  const { services, exchange, request_id } = context;
  const { config, engine, model } = services;
  const { images, photos, targets, options, warnings, tokens } = sent;
  const challenge =
    endpoint.redeems === undefined
      ? undefined
      : services.challenges.verify(tokens.get(endpoint.redeems)!, context.owner);
  const further = endpoint.furtherTokens?.(images.length, targets.length) ?? 0;
  if (further > 0 && endpoint.scope !== 'none') {
    const rejection = await context.quota?.admit(endpoint.scope, further);
    const burst = context.quota?.key?.burst;
    if (rejection?.code === 'too_many_images' && burst !== undefined)
      throw new Problem('too_many_images', endpoint.tooManyFor?.(burst));
    if (rejection) throw rejection;
  }
  if (challenge !== undefined) {
    await services.challenges.use(challenge);
    context.challenge = challenge;
  }
  const { max_pixels, min_image_side: min_side, image_timeout_ms } = config;
  const calibration = services.calibrations[options.accuracy_mode];
  const comparisons = new Comparisons();
  const known = { photos, comparisons, calibration, ...(challenge && { steps: challenge.steps }) };
  let step: PersonsStep | undefined;
  const { outcomes, output, queue_ms } = await workOn(context, arrived, (sender) =>
    engine.analyse(
      images.map(({ start, end }) => bytes.subarray(start, end)),
      { ...analysisOptions(options), ...endpoint.analysis, max_pixels, min_side, image_timeout_ms },
      !endpoint.sensitive,
      sender,
      {
        unsettled: (outcomes) =>
          endpoint.unsettled?.({ options, outcomes, targets, comparisons, calibration }) ?? [],
        name: 'persons',
        input: (outcomes) => {
          step = endpoint.persons?.({ ...known, outcomes });
          return step?.input;
        },
      },
    ),
  );
  context.images = outcomes.length;
  context.timings_ms = { queue: Math.round(queue_ms * 10) / 10 };
  const ignored = ignoredQuery(exchange.request.query, rules.names);
  const total_ms = performance.now() - arrived;
  const analysed = {
    context: { request_id, options, warnings: [...ignored, ...warnings], model, queue_ms, total_ms },
    targets,
    outcomes,
    ...known,
  };
  return replyOf(
    context,
    step && output ? step.buildResponse(analysed, output) : endpoint.buildResponse(analysed),
  );
}

/** A worker parses the body and compares. */
async function compare(
  context: Context,
  { endpoint }: EmbeddingsRoute,
  { bytes: body, arrived }: Received<undefined>,
): Promise<Reply> {
  const { services, exchange, request_id } = context;
  const { engine, manifest, model, calibrations } = services;
  const input = { body, ...model, dimensions: manifest.embedder.dimensions };
  const { output: compared, queue_ms } = await workOn(context, arrived, (sender) =>
    engine.work('embeddings', input, sender),
  );
  const warnings = ignoredQuery(exchange.request.query, endpoint.members);
  const result = endpoint.buildResponse({
    context: { request_id, warnings, model, queue_ms, total_ms: performance.now() - arrived },
    compared,
    calibration: calibrations[compared.values.accuracy_mode],
  });
  return replyOf(context, result);
}

/**
 * Gives the workers the work of a request whose last byte arrived at `arrived`, and cancels it if the client
 * leaves.
 */
function workOn<Result>(
  context: Context,
  arrived: number,
  submit: (sender: Sender) => Ticket<Result>,
): Promise<Result> {
  const { quota, exchange, owner, request_id } = context;
  if (!exchange.open) throw new ClientLeft();
  const ticket = submit({ owner, request_id, arrived, spent: (cpu_ms) => quota?.spend(cpu_ms) });
  context.idle = ticket.idle;
  exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  return ticket.done;
}

/** Records a result. Throws it if it is a rejection. */
function replyOf(context: Context, result: HandlerResult, status = 200): Reply {
  context.counts = result.counts ?? [];
  const { timings_ms } = 'rejection' in result ? result : result.body;
  context.timings_ms = timings_ms ?? context.timings_ms;
  if ('rejection' in result) throw result.rejection;
  context.decisions = result.decisions ?? [];
  return json(status, result.body, timings_ms === undefined ? [] : [serverTiming(timings_ms)]);
}
