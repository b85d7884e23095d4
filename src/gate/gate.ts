import { Problem } from '../errors.ts';
import { clientAddress } from './client-address.ts';
import type { ApiKey, KeyStore } from './key-store.ts';
import { type Scope, scopes } from './keys.ts';
import { type Admission, Limiter, type RateLimiter, type RateState } from './limiter.ts';
import { checkQuota, type Quota } from './token-bucket.ts';

export { rateHeaders } from './limiter.ts';

interface GateOptions {
  keys: KeyStore;
  /** Failed authentications that one client address may go on making per minute … */
  failuresPerMinute: number;
  /** … after this many at once. */
  failureBurst: number;
  /** How many proxies in front of the server are trusted to append to X-Forwarded-For. */
  trustedHops: number;
  /** Counts what keys spend; a limiter of this process alone unless given. */
  callers?: RateLimiter | undefined;
}

export interface GateRequest {
  api_key: string | undefined;
  /** The socket's remote address as text. */
  peer: string;
  /** Every X-Forwarded-For line in order, joined by commas. */
  forwarded_for: string | undefined;
  scope: Scope | 'any';
  /** Tokens that the endpoint costs; 0 is never limited. */
  cost: number;
  /** Tokens that the same request has paid before. */
  paid?: number;
  now_ms: number;
}

export type Verdict =
  | { ok: true; key: ApiKey; rate: RateState }
  | { ok: false; problem: Problem; retry_after_seconds?: number; rate?: RateState; key_id?: string };

/** Buckets that are kept at most: some 10 MB, whoever knocks. */
export const mostBuckets = 65_536;

/**
 * A refusal carries nothing of its request, so each is made once: an Error collects a stack, which would cost more than
 * all the rest of a refusal.
 */
const refusals = {
  missing: fixed(new Problem('missing_api_key')),
  invalid: fixed(new Problem('invalid_api_key')),
  rate: fixed(new Problem('rate_limit_exceeded')),
  guessing: fixed(
    new Problem('rate_limit_exceeded', {
      detail:
        'Too many requests with an invalid key came from this address; wait as long as Retry-After says, and check the key.',
    }),
  ),
  scope: Object.fromEntries(
    scopes.map((scope) => [scope, fixed(new Problem('forbidden_scope', { required_scope: scope }))]),
  ) as Record<Scope, Problem>,
};

/** Decides whether a request may go on, in the contract's order: key, scope, rate limit. */
export class Gate {
  readonly #keys: KeyStore;
  readonly #trustedHops: number;
  readonly #failureQuota: Quota;
  readonly #callers: RateLimiter;
  /** Always of this process alone: addresses of people stay in it, and no number of replicas makes guessing worth while. */
  readonly #failures = new Limiter(mostBuckets);

  /** Throws RangeError for a failure quota out of range. */
  constructor(options: GateOptions) {
    this.#keys = options.keys;
    this.#trustedHops = options.trustedHops;
    this.#callers = options.callers ?? new Limiter(mostBuckets);
    this.#failureQuota = { rate: options.failuresPerMinute / 60, burst: options.failureBurst };
    checkQuota(this.#failureQuota);
  }

  /** A promise only when another process has to be asked, by a shared limiter; it does not reject. */
  check(request: GateRequest): Verdict | Promise<Verdict> {
    const { api_key, scope, cost, paid = 0, now_ms } = request;
    // A request without a key guesses nothing: it is told what is missing, however often.
    if (api_key === undefined || api_key === '') return { ok: false, problem: refusals.missing };
    // The key comes before the failures of its address, so that nobody behind the same proxy can lock its owner out.
    const key = this.#keys.verify(api_key, now_ms);
    if (key === undefined) return this.#refuseGuess(request);
    if (scope !== 'any' && !key.scopes.includes(scope)) {
      return { ok: false, problem: refusals.scope[scope], key_id: key.id };
    }
    // Together with what is paid no more than the burst, which is all that there ever is.
    const payable = Math.min(cost, key.burst - paid);
    const admission = this.#callers.take(key.id, key, payable, now_ms, paid + payable);
    return admission instanceof Promise
      ? admission.then((late) => verdictOn(key, late))
      : verdictOn(key, admission);
  }

  #refuseGuess({ peer, forwarded_for, now_ms }: GateRequest): Verdict {
    const address = clientAddress(peer, forwarded_for, this.#trustedHops);
    const { admitted, rate } = this.#failures.take(address, this.#failureQuota, 1, now_ms);
    if (admitted) return { ok: false, problem: refusals.invalid };
    return { ok: false, problem: refusals.guessing, retry_after_seconds: rate.reset_seconds };
  }
}

function verdictOn(key: ApiKey, { admitted, rate }: Admission): Verdict {
  if (admitted) return { ok: true, key, rate };
  return {
    ok: false,
    problem: refusals.rate,
    retry_after_seconds: rate.reset_seconds,
    rate,
    key_id: key.id,
  };
}

/** Frozen, because requests share it. */
function fixed(problem: Problem): Problem {
  Object.freeze(problem.extras);
  return Object.freeze(problem);
}
