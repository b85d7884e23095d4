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
 * Handles a request in the order of the API contract: headers, key, scope, rate limit, body, form, work, response,
 * record.
 */
export class Pipeline {
  readonly #services: Services;
  readonly #router: Router;
  readonly #cors: Cors;
  inFlight = 0;
  /** Number of requests in flight, or with a body that is still arriving after the response. */
  #open = 0;
  #lastRequest_ms = Number.NEGATIVE_INFINITY;

  constructor(services: Services) {
    this.#services = services;
    this.#router = new Router(services);
    this.#cors = new Cors(services.config.cors_origins);
  }

  /** Milliseconds since the last request began; 0 while a request is in flight or its body is still arriving. */
  get quiet_ms(): number {
    const isBusy = this.inFlight > 0 || this.#open > 0;
    return isBusy ? 0 : performance.now() - this.#lastRequest_ms;
  }

  /** Responds to a request, and records it once. Never throws. */
  readonly handle = (exchange: Exchange): void => {
    this.inFlight += 1;
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

  /**
   * Checks headers, key, scope and rate limit, and serves the request. Returns or throws a Problem, or rejects
   * with it.
   */
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
    // RFC 9110, section 10.1.1: an unsupported expectation gets 417.
    const expect = request.headers.get('expect') ?? '100-continue';
    if (expect.toLowerCase() !== '100-continue') throw new Problem('expectation_failed');
    const { scope } = route.endpoint;
    if (scope === 'none') return serve(context, route);
    context.quota = new QuotaUse(this.#services.gate, request);
    const admission = context.quota.admit(scope, 1);
    if (admission instanceof Problem) return admission;
    if (admission === undefined) return serve(context, route);
    if (request.framing === 'unclear' && route.takes !== 'nothing') {
      // Not awaited, because µWS closes the connection after this callback. `serve` rejects every such request.
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
    // Closes the connection after a 408, because the rest of the body may never arrive (RFC 9110, section 15.5.9).
    const close = this.#services.readiness.stage === 'draining' || rejection?.code === 'upload_timeout';
    try {
      const isSent = exchange.reply(reply, headers, close);
      // 499 is nginx's status for a client that disconnected.
      const [status, code] = isSent ? [reply.status, rejection?.code] : [499, 'client_left'];
      this.#record(context, status, code, rejection, fault);
    } catch (error) {
      // The connection has ended, but the request is still recorded, and no promise rejection is unhandled.
      this.#record(context, 500, 'internal_error', rejection, error);
    }
    void context.idle.then(() => context.upload?.release());
    this.inFlight -= 1;
  }

  /** Records the request in the log, the metrics and the audit log. Never throws. */
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

/** Cache-Control of documents, which change only when the server restarts. */
const cacheable = 'public, max-age=300';

/** Returns the field of a rejection for the log. Names that a client chose are not logged. */
function fieldOf({ code, extras: { field, errors } }: Problem): string | undefined {
  if (code === 'duplicate_field' || code === 'unknown_file') return undefined;
  return field ?? errors?.map((one) => one.field).join(', ');
}

function faultOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Collects the body while the shared limiter decides. */
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
    // If there is no memory for the body, the request is rejected later.
    if (!(error instanceof Problem)) throw error;
  }
}

/** Reads the body, runs the work and returns the response. Throws a Problem, or rejects with it. */
function serve(context: Context, route: Route): Reply | Promise<Reply> {
  const { exchange, services } = context;
  const { request } = exchange;
  switch (route.takes) {
    case 'images':
      return readBody(context, route, analyse);
    case 'embeddings':
      return readBody(context, route, compare);
    case 'nothing': {
      // The connection closes with this response, so a long response could be truncated.
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
  /** performance.now() when the last byte of the body arrived. */
  arrived: number;
}

/** Receives and parses the body of an admitted request, and runs the work. */
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
  // Called before the first await, because µWS drops the body of a request that has no listener for it by then.
  const received = exchange.receive(context.upload, { malformed: body.malformed, isWhole }).catch((error) => {
    const isTooLarge = error instanceof Problem && error.code === 'body_too_large';
    throw isTooLarge ? tooLarge(body) : error;
  });
  return received.then(async (bytes) => {
    const arrived = performance.now();
    const check = () => {
      if (!exchange.open) throw new ClientLeft();
    };
    const sent = await inTurns(read(bytes), check, (ms) => quota?.spend(ms));
    return work(context, route, { sent, bytes, arrived });
  });
}

function tooLarge({ limit_bytes, smaller }: Body<unknown>, length = ''): Problem {
  const detail = `${smaller}: ${length}the maximum is ${limit_bytes} bytes.`;
  return new Problem('body_too_large', { detail, limit_bytes });
}

/**
 * Rejects a request whose body need not be uploaded. The checks are in the order of the API contract. Throws a
 * Problem.
 */
function checkBeforeBody({ services, exchange, owner }: Context, body: Body<unknown>): void {
  const { limit_bytes, malformed } = body;
  if (services.readiness.stage !== 'ready') throw new Problem('not_ready');
  if (services.engine.isFull(owner)) throw new Problem('overloaded');
  const { framing, headers, has_duplicate_type } = exchange.request;
  const declared = headers.get('content-length') ?? '';
  if (/^\d+$/.test(declared) && Number(declared) > limit_bytes) {
    throw tooLarge(body, `the body has ${Number(declared)} bytes; `);
  }
  if (framing === 'unclear') throw malformed;
  // RFC 9110, section 8.4: an unsupported content coding gets 415.
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', { detail: 'Send the body without Content-Encoding.' });
  }
  // A proxy may have used the other Content-Type header.
  if (has_duplicate_type) {
    throw new Problem(malformed.code, { ...malformed.extras, detail: 'Send one Content-Type header.' });
  }
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

/** Parses the body and compares the embeddings in a worker. */
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

/** Submits work to the workers, and cancels it if the client disconnects. `arrived`: when the last byte arrived. */
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

/** Records a result and returns its response. Throws the Problem of a rejection. */
function replyOf(context: Context, result: HandlerResult, status = 200): Reply {
  context.counts = result.counts ?? [];
  const { timings_ms } = 'rejection' in result ? result : result.body;
  context.timings_ms = timings_ms ?? context.timings_ms;
  if ('rejection' in result) throw result.rejection;
  context.decisions = result.decisions ?? [];
  return json(status, result.body, timings_ms === undefined ? [] : [serverTiming(timings_ms)]);
}
