import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** From a Redis beside the server to the longest wait for one, in seconds. */
const buckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/** Of a shared limiter; there are none of these without one. */
export class LimiterMetrics {
  readonly #fallbacks: Counter;
  readonly #durations: Histogram;

  constructor(registry: Registry, up: () => boolean) {
    const registers = [registry];
    new Gauge({
      name: 'facematch_limiter_up',
      help: '1 when rate limits are shared, 0 while Redis is away and this process counts alone',
      registers,
      collect() {
        this.set(Number(up()));
      },
    });
    this.#fallbacks = new Counter({
      name: 'facematch_limiter_fallbacks_total',
      help: 'Requests whose rate limit this process judged alone because Redis was away',
      registers,
    });
    this.#durations = new Histogram({
      name: 'facematch_limiter_duration_seconds',
      help: 'From the question to Redis to its answer',
      buckets,
      registers,
    });
  }

  fallback(): void {
    this.#fallbacks.inc();
  }

  decision(seconds: number): void {
    this.#durations.observe(seconds);
  }
}
