import type { EndpointId } from '../config/config.ts';
import { prefix } from '../endpoints/endpoint.ts';
import { endpoints, type Listed } from '../endpoints/index.ts';
import { Problem } from '../errors.ts';
import { Context, type Services } from './context.ts';
import { ClientLeft, type Exchange, type Reply } from './exchange.ts';
import { bodyLimit, handleRequest, isJson } from './handler.ts';
import { Cors, problem } from './responses.ts';

/** Checks each request in the contract's order (endpoint, key, scope, rate), handles it, and answers, logs and counts it once. */
export class Dispatcher {
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

/** Finds endpoints among those that are switched on. HEAD works wherever GET does (RFC 9110 section 9.1). */
class Router {
  readonly #open: ReadonlyMap<string, readonly Listed[]>;
  readonly #hint: string;

  constructor(enabled: readonly EndpointId[]) {
    const open = endpoints.filter(({ id }) => enabled.includes(id));
    this.#open = new Map(endpoints.map(({ path }) => [path, open.filter((one) => one.path === path)]));
    const pages = open.filter((one) => 'document' in one && one.document.type.startsWith('text/html'));
    this.#hint =
      (pages.length > 0 ? `To read and to try: ${pages.map(({ path }) => path).join(', ')}. ` : '') +
      `Every endpoint lies under ${prefix}, and paths are case-sensitive. ` +
      `There are: ${open.map(({ method, path }) => `${method} ${path}`).join(', ')}.`;
  }

  /** Throws Problem not_found, endpoint_disabled or method_not_allowed. */
  find(method: string, path: string): Listed {
    const open = this.#open.get(path);
    if (open === undefined) throw new Problem('not_found', { detail: this.#hint });
    if (open.length === 0) throw new Problem('endpoint_disabled');
    const wanted = method === 'HEAD' ? 'GET' : method;
    const found = open.find((candidate) => candidate.method === wanted);
    if (found === undefined) throw new Problem('method_not_allowed');
    return found;
  }

  /** Methods that a path takes, for Allow; empty when there is no such path. */
  methods(path: string): readonly string[] {
    const open = this.#open.get(path) ?? [];
    return open.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  }
}
