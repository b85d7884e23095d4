import { Problem } from '../errors.ts';
import { clientAddress } from './client-address.ts';
import type { ApiKey, KeyStore } from './key-store.ts';
import { keyId, type Scope, scopes } from './keys.ts';
import {
  type Admission,
  checkQuota,
  Limiter,
  type Quota,
  type RateLimiter,
  type RateState,
} from './limiter.ts';

export { rateHeaders } from './limiter.ts';

interface GateOptions {
  keys: KeyStore;
  /** Failed key checks that one client address may make per minute, after … */
  failuresPerMinute: number;
  /** … this many at once. */
  failureBurst: number;
  /** How many proxies in front of the server are trusted to append to X-Forwarded-For. */
  trustedHops: number;
  /** Limits the keys; by default a limiter of this process only. */
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
  /** Tokens that the same request has already paid. */
  paid?: number;
  now_ms: number;
  /** Called before a limiter is asked: the key is valid and has the scope. */
  onKey?(key: ApiKey): void;
}

export type Verdict =
  /** `paid`: tokens that the request has paid by now. */
  | { ok: true; key: ApiKey; rate: RateState; paid: number }
  | { ok: false; problem: Problem; retry_after_seconds?: number; rate?: RateState; key_id?: string };

/** Most buckets that are kept: about 10 MB, however many addresses send requests. */
export const mostBuckets = 65_536;

/** When a request of the key will have been answered is not known. */
const busyRetry_s = 1;

/** Made once and shared by all requests: collecting the stack of a new Error would cost more than the rest of a refusal. */
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
  /** Running requests of each key in this process, also of keys without a limit: they may get one meanwhile. */
  readonly #running = new Map<string, number>();
  /** Always local: client addresses do not leave the process, and more replicas do not make guessing feasible. */
  readonly #failures = new Limiter(mostBuckets);

  /** Throws RangeError for a failure quota out of range. */
  constructor(options: GateOptions) {
    this.#keys = options.keys;
    this.#trustedHops = options.trustedHops;
    this.#callers = options.callers ?? new Limiter(mostBuckets);
    this.#failureQuota = { rate: options.failuresPerMinute / 60, burst: options.failureBurst };
    checkQuota(this.#failureQuota);
  }

  /** A promise only when a shared limiter asks Redis; it never rejects. */
  check(request: GateRequest): Verdict | Promise<Verdict> {
    const { api_key, scope, cost, paid = 0, now_ms } = request;
    // A request without a key is not a guess, so it is not limited.
    if (api_key === undefined || api_key === '') return { ok: false, problem: refusals.missing };
    // Valid keys are checked before the failures of their address, so that nobody behind the same proxy can lock out their owner.
    const key = this.#keys.verify(api_key, now_ms);
    if (key === undefined) return this.#refuseGuess(request);
    if (scope !== 'any' && !key.scopes.includes(scope)) {
      return { ok: false, problem: refusals.scope[scope], key_id: key.id };
    }
    request.onKey?.(key);
    // No wait would help.
    if (cost + paid > key.burst) {
      return { ok: false, problem: new Problem('too_many_images', { limit: key.burst }), key_id: key.id };
    }
    const busy = paid === 0 ? this.#busy(key) : undefined;
    if (busy) {
      const rate = this.#callers.giveBack(key.id, key, 0, now_ms);
      return { ok: false, problem: busy, retry_after_seconds: busyRetry_s, rate, key_id: key.id };
    }
    const admission = this.#callers.take(key.id, key, cost, now_ms, paid);
    return admission instanceof Promise
      ? admission.then((late) => verdictOn(key, late, cost + paid))
      : verdictOn(key, admission, cost + paid);
  }

  /** Counts a request of the key as running until `leave`. The refusal when as many as may be run already. */
  enter(key: ApiKey): Problem | undefined {
    const busy = this.#busy(key);
    if (busy === undefined) this.#running.set(key.id, (this.#running.get(key.id) ?? 0) + 1);
    return busy;
  }

  /** Ends what `enter` began. */
  leave(key: ApiKey): void {
    const left = this.#running.get(key.id)! - 1;
    if (left > 0) this.#running.set(key.id, left);
    else this.#running.delete(key.id);
  }

  #busy({ id, concurrent = Number.POSITIVE_INFINITY }: ApiKey): Problem | undefined {
    return (this.#running.get(id) ?? 0) < concurrent ? undefined : tooMany(concurrent);
  }

  /** Returns what a request paid that the server was too busy to serve. */
  giveBack(key: ApiKey, tokens: number, now_ms: number): RateState {
    return this.#callers.giveBack(key.id, key, tokens, now_ms);
  }

  #refuseGuess({ peer, forwarded_for, now_ms }: GateRequest): Verdict {
    const address = clientAddress(peer, forwarded_for, this.#trustedHops);
    const { admitted, rate } = this.#failures.take(address, this.#failureQuota, 1, now_ms);
    if (admitted) return { ok: false, problem: refusals.invalid };
    return { ok: false, problem: refusals.guessing, retry_after_seconds: rate.reset_seconds };
  }
}

/** `price`: of the whole request. */
function verdictOn(key: ApiKey, { admitted, rate }: Admission, price: number): Verdict {
  if (admitted) return { ok: true, key, rate, paid: price };
  return {
    ok: false,
    problem: price > 1 ? tooDear(price) : refusals.rate,
    retry_after_seconds: rate.reset_seconds,
    rate,
    key_id: key.id,
  };
}

function tooMany(concurrent: number): Problem {
  const detail = `This key may have ${concurrent} running at once; wait for an answer, then send again.`;
  return new Problem('rate_limit_exceeded', { detail });
}

function tooDear(price: number): Problem {
  const detail = `This request costs ${price} of the key's tokens, more than it has now; wait as long as Retry-After says, then send again.`;
  return new Problem('rate_limit_exceeded', { detail });
}

/** Frozen, because requests share it. */
function fixed(problem: Problem): Problem {
  Object.freeze(problem.extras);
  return Object.freeze(problem);
}

/** No text that could be a key: it is refused as one that is wrong. */
const contradictory = 'two keys';

/**
 * The key that a request presents: `x-api-key`, or the token of `Authorization: Bearer` (RFC 6750 section 2.1), whose scheme is
 * written in any case. Beside `x-api-key`, a token without the form of a key belongs to somebody else, such as a gateway, and is
 * ignored; one that could be another key makes none of both. Undefined where there is no key.
 */
export function presentedKey(headers: ReadonlyMap<string, string>): string | undefined {
  const key = headers.get('x-api-key') || undefined;
  const bearer = /^bearer +(.+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (key === undefined || bearer === undefined) return key ?? bearer;
  return key === bearer || keyId(bearer) === undefined ? key : contradictory;
}
