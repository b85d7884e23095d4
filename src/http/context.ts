import type { Challenges, Redeemed } from '../auth/challenges.ts';
import { clientAddress } from '../auth/client-address.ts';
import type { Gate, QuotaUse } from '../auth/gate.ts';
import type { Config, EndpointId } from '../config/config.ts';
import type { Decision, ImageCounts } from '../endpoints/endpoint.ts';
import type { Listed } from '../endpoints/index.ts';
import type { WorkerJobs } from '../endpoints/worker-jobs.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import type { Engine } from '../engine/engine.ts';
import type { Manifest } from '../engine/manifest.ts';
import type { Calibration } from '../scoring/calibration.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Upload, Uploads } from './body/upload.ts';
import type { Exchange } from './exchange.ts';
import { requestId, traceOf } from './request.ts';
import type { Document } from './responses.ts';
import type { UnreadResponses } from './unread.ts';

/** `ready`: the pack is verified, every worker has run its first inference, and no shutdown has begun. */
interface Readiness {
  stage: 'starting' | 'ready' | 'draining';
}

/** The objects that requests share. src/server/start.ts creates them once. */
export interface Services {
  readonly config: Config;
  readonly gate: Gate;
  readonly challenges: Challenges;
  readonly manifest: Manifest;
  /** Name and version of the pack in responses. */
  readonly model: { pack: string; version: string };
  readonly calibrations: Readonly<Record<AccuracyMode, Calibration>>;
  readonly engine: Engine<WorkerJobs>;
  readonly uploads: Uploads;
  readonly unread: UnreadResponses;
  readonly readiness: Readiness;
  readonly telemetry: Telemetry;
  /** Returns a document of the site. `id`: its endpoint. `query`: the query string of the request. */
  documents(id: EndpointId, query: string): Document | Promise<Document>;
}

/** State of one request. */
export class Context {
  readonly exchange: Exchange;
  readonly services: Services;
  readonly request_id: string;
  /** The trace of a valid `traceparent`, for the log. */
  readonly trace_id: string | undefined;
  readonly headers: (readonly [name: string, value: string])[];
  endpoint: Listed | undefined;
  /** Use of the key's quota, if the endpoint needs a key. */
  quota: QuotaUse | undefined;
  upload: Upload | undefined;
  /** Resolves when the workers no longer read the body. Never rejects. */
  idle: Promise<void> = Promise.resolve();
  /** The challenge that the request has marked as used. */
  challenge: Redeemed | undefined;
  images = 0;
  /** Milliseconds of each stage, for the log and the metrics. */
  timings_ms: Readonly<Record<string, number>> = {};
  /** Image counts for the metrics. */
  counts: readonly ImageCounts[] = [];
  /** Decisions for the audit log and the metrics. */
  decisions: readonly Decision[] = [];

  constructor(exchange: Exchange, services: Services) {
    const { request } = exchange;
    this.exchange = exchange;
    this.services = services;
    this.request_id = requestId(request.headers.get('x-request-id'));
    const trace = traceOf(request.headers.get('traceparent'));
    this.trace_id = trace?.trace_id;
    this.headers = [['X-Request-Id', this.request_id]];
    if (trace) this.headers.push(['traceparent', trace.traceparent]);
  }

  /** The client's IP address, or its /64 prefix for IPv6; undefined unless FACEMATCH_LOG_CLIENT is on. */
  get client(): string | undefined {
    const { log_client, trusted_hops } = this.services.config;
    if (log_client === 'off') return undefined;
    const { headers, peer } = this.exchange.request;
    return clientAddress(peer, headers.get('x-forwarded-for'), trusted_hops);
  }

  /** Owner of the memory and the queue places of the request: the key or, without one, the peer. */
  get owner(): string {
    return this.quota?.key_id ?? this.exchange.request.peer;
  }

  /** Refunds the tokens and makes the challenge valid again. Call it for a 503, because the request was not served. */
  giveBack(): void {
    this.quota?.giveBack();
    if (this.challenge !== undefined) this.services.challenges.giveBack(this.challenge);
  }
}
