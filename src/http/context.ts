import { clientAddress } from '../auth/client-address.ts';
import { type Gate, presentedKey, rateHeaders, type Verdict } from '../auth/gate.ts';
import type { ApiKey } from '../auth/key-store.ts';
import type { Config } from '../config/config.ts';
import type { EndpointId, Listed, Scope } from '../endpoints/index.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import type { Engine } from '../engine/engine.ts';
import type { PackDraft } from '../engine/manifest.ts';
import type { Origin } from '../engine/queue.ts';
import type { Calibration } from '../scoring/calibration.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Readiness } from './admin.ts';
import type { Upload, Uploads } from './body/upload.ts';
import type { Exchange } from './exchange.ts';
import { requestId, traceOf } from './request.ts';
import type { Published } from './responses.ts';

/** Everything that requests use; made once, by src/server/start.ts. */
export interface Services {
  readonly config: Config;
  readonly gate: Gate;
  readonly manifest: PackDraft;
  /** The pack, as answers name it. */
  readonly model: { pack: string; version: string };
  readonly calibrations: Readonly<Record<AccuracyMode, Calibration>>;
  readonly engine: Engine;
  readonly uploads: Uploads;
  readonly readiness: Readiness;
  readonly telemetry: Telemetry;
  /** A document of the site, by the id of its endpoint. */
  documents(id: EndpointId): Published;
}

/** One request, and what is recorded about it. */
export class Context {
  readonly exchange: Exchange;
  readonly services: Services;
  readonly request_id: string;
  /** Of a valid `traceparent`; for the log. */
  readonly trace_id: string | undefined;
  /** Known once it is found. */
  endpoint: Listed | undefined;
  /** Known once the key is checked. */
  key_id: string | undefined;
  /** Known once the key is admitted. */
  key: ApiKey | undefined;
  /** Pictures that were analysed. */
  pictures = 0;
  /** Tokens that the request has paid. */
  paid = 0;
  #entered = false;
  /** The request's body, once it is being received. */
  upload: Upload | undefined;
  /** Resolves when the workers no longer read the body. Never rejects. */
  idle: Promise<void> = Promise.resolve();
  /** Headers of the answer, whatever it is. */
  readonly headers: (readonly [name: string, value: string])[] = [];
  /** Milliseconds of each stage, for the log and the metrics. */
  timings_ms: Readonly<Record<string, number>> = {};
  /** For the metrics. */
  counts: MatchCounts | undefined;
  /** For the audit log. */
  decisions: readonly Decision[] = [];
  /** Why the answer is internal_error; for the log only. */
  fault: string | undefined;

  constructor(exchange: Exchange, services: Services) {
    this.exchange = exchange;
    this.services = services;
    this.request_id = requestId(exchange.request.headers.get('x-request-id'));
    this.headers.push(['X-Request-Id', this.request_id], ['Cache-Control', 'no-store']);
    const trace = traceOf(exchange.request.headers.get('traceparent'));
    this.trace_id = trace?.trace_id;
    if (trace) this.headers.push(['traceparent', trace.traceparent]);
  }

  /** The client's address, where the operator wants it in the log. */
  get client(): string | undefined {
    const { log_client, trusted_hops } = this.services.config;
    if (log_client === 'off') return undefined;
    const { headers, peer } = this.exchange.request;
    return clientAddress(peer, headers.get('x-forwarded-for'), trusted_hops);
  }

  /** Checks key, scope and rate limit; obey the verdict before the next check. */
  check(scope: Scope | 'any', cost: number): Verdict | Promise<Verdict> {
    const { headers, peer } = this.exchange.request;
    return this.services.gate.check({
      api_key: presentedKey(headers),
      peer,
      forwarded_for: headers.get('x-forwarded-for'),
      scope,
      cost,
      paid: this.paid,
      now_ms: Date.now(),
      onKey: ({ id }) => {
        this.key_id = id;
      },
    });
  }

  /** Sets rate headers and key id from the verdict. Throws its Problem when the request is refused. */
  obey(verdict: Verdict): void {
    if (verdict.rate) for (const header of rateHeaders(verdict.rate)) this.setHeader(header);
    if (verdict.ok) {
      this.key_id = verdict.key.id;
      this.paid = verdict.paid;
      if (this.key === undefined) this.#enter(verdict.key);
      return;
    }
    this.key_id = verdict.key_id;
    if (verdict.retry_after_seconds !== undefined) {
      this.setHeader(['Retry-After', String(verdict.retry_after_seconds)]);
    }
    throw verdict.problem;
  }

  /** For the queue. */
  get origin(): Origin {
    return { owner: this.key_id ?? '', request_id: this.request_id };
  }

  /** Counts it among the running requests of its key, from now to `leave`. Throws Problem when there are too many. */
  #enter(key: ApiKey): void {
    const refusal = this.services.gate.enter(key);
    this.key = key;
    if (refusal === undefined) {
      this.#entered = true;
      return;
    }
    // Others came in between, while a shared limiter was asked.
    this.giveBack();
    this.key = undefined;
    this.setHeader(['Retry-After', '1']);
    throw refusal;
  }

  /** Call it when the answer is there. */
  leave(): void {
    if (this.#entered) this.services.gate.leave(this.key!);
    this.#entered = false;
  }

  /** Gives the tokens of a request back that the server was too busy to serve. */
  giveBack(): void {
    if (this.key === undefined || this.paid === 0) return;
    const rate = this.services.gate.giveBack(this.key, this.paid, Date.now());
    this.paid = 0;
    for (const header of rateHeaders(rate)) this.setHeader(header);
  }

  /** Replaces a header of the same name. */
  setHeader(header: readonly [name: string, value: string]): void {
    const at = this.headers.findIndex(([name]) => name === header[0]);
    if (at < 0) this.headers.push(header);
    else this.headers[at] = header;
  }
}
