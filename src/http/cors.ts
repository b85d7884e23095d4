import type { Headers } from './exchange.ts';
import type { Request } from './request.ts';

/**
 * Cross-origin requests (Fetch standard, section 3.2), off unless origins are configured. Keys travel in a header and
 * never in cookies, so credentials are not allowed.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Headers for any answer to this request. */
  headers(request: Request): Headers {
    if (this.#origins.size === 0) return [];
    // Caches must know that answers differ by origin, also when this one is refused.
    const vary = ['Vary', 'Origin'] as const;
    const origin = request.headers.get('origin');
    if (!this.#allows(origin)) return [vary];
    return [vary, ['Access-Control-Allow-Origin', origin], ['Access-Control-Expose-Headers', exposed]];
  }

  /** Further headers when this is an allowed preflight, which is then answered 204 without a key. */
  preflight(request: Request, methods: readonly string[]): Headers | undefined {
    const asks = request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
    if (!asks || methods.length === 0 || !this.#allows(request.headers.get('origin'))) return undefined;
    return [
      ['Access-Control-Allow-Methods', methods.join(', ')],
      ['Access-Control-Allow-Headers', 'x-api-key, x-request-id, content-type'],
      ['Access-Control-Max-Age', '600'],
    ];
  }

  #allows(origin: string | undefined): origin is string {
    return origin !== undefined && (this.#origins.has('*') || this.#origins.has(origin));
  }
}

const exposed = 'X-Request-Id, Server-Timing, RateLimit, RateLimit-Policy, Retry-After';
