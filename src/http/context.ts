import type { Findings } from '../telemetry/metrics.ts';
import type { Exchange } from './exchange.ts';
import { requestId } from './request.ts';
import type { Route } from './routes.ts';
import type { Services } from './services.ts';

/** One request on its way through the house: who asks for what, and what is to be said about it in the end. */
export class Context {
  readonly exchange: Exchange;
  readonly services: Services;
  readonly request_id: string;
  /** Known once the route is judged. */
  route: Route | undefined;
  /** Known once the key is judged. */
  key_id: string | undefined;
  /** Go with whatever answer is given. */
  readonly headers: (readonly [name: string, value: string])[] = [];
  /** Milliseconds of each stage, for the log and the metrics. */
  timings_ms: Readonly<Record<string, number>> = {};
  /** What a match saw, for the metrics. */
  findings: Findings | undefined;
  /** Why the answer is internal_error; for the log alone. */
  fault: string | undefined;

  constructor(exchange: Exchange, services: Services) {
    this.exchange = exchange;
    this.services = services;
    this.request_id = requestId(exchange.request.headers.get('x-request-id'));
    this.headers.push(['X-Request-Id', this.request_id], ['Cache-Control', 'no-store']);
  }
}
