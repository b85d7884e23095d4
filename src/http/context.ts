import type { Config } from '../config.ts';
import type { EndpointId, Listed, Scope } from '../endpoints/index.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import type { Engine } from '../engine/engine.ts';
import type { PackManifest } from '../engine/pack.ts';
import type { Calibration } from '../face/calibration.ts';
import { type Gate, rateHeaders, type Verdict } from '../gate/gate.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Readiness } from './admin.ts';
import type { Exchange } from './exchange.ts';
import { requestId } from './request.ts';
import type { Published } from './responses.ts';
import type { Upload, Uploads } from './upload.ts';

/** Everything that requests use; made once, by src/server/index.ts. */
export interface Services {
  readonly config: Config;
  readonly gate: Gate;
  readonly manifest: PackManifest;
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
  /** Known once it is found. */
  endpoint: Listed | undefined;
  /** Known once the key is checked. */
  key_id: string | undefined;
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
  }

  /** Checks key, scope and rate limit. `paid`: tokens that the request has already paid. */
  check(scope: Scope | 'any', cost: number, paid = 0): Verdict | Promise<Verdict> {
    const { headers, peer } = this.exchange.request;
    return this.services.gate.check({
      api_key: headers.get('x-api-key'),
      peer,
      forwarded_for: headers.get('x-forwarded-for'),
      scope,
      cost,
      paid,
      now_ms: Date.now(),
    });
  }

  /** Sets rate headers and key id from the verdict. Throws its Problem when the request is refused. */
  obey(verdict: Verdict): void {
    if (verdict.rate) for (const header of rateHeaders(verdict.rate)) this.setHeader(header);
    if (verdict.ok) {
      this.key_id = verdict.key.id;
      return;
    }
    this.key_id = verdict.key_id;
    if (verdict.retry_after_seconds !== undefined) {
      this.setHeader(['Retry-After', String(verdict.retry_after_seconds)]);
    }
    throw verdict.problem;
  }

  /** Replaces a header of the same name. */
  setHeader(header: readonly [name: string, value: string]): void {
    const at = this.headers.findIndex(([name]) => name === header[0]);
    if (at < 0) this.headers.push(header);
    else this.headers[at] = header;
  }
}
