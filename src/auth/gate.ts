import type { Config } from '../config/config.ts';
import { Problem, waitWords } from '../errors.ts';
import { clientAddress } from './client-address.ts';
import type { ApiKey, KeyStore } from './key-store.ts';
import { keyId, type Scope, scopes } from './keys.ts';
import {
  type Admission,
  Limiter,
  type Quota,
  type RateLimiter,
  type RateState,
  rateHeaders,
} from './limiter.ts';

type GateSettings = Pick<
  Config,
  'auth_failures_per_minute' | 'auth_failure_burst' | 'trusted_hops' | 'token_ms'
>;

/** The head of a request, as far as it says who sends it. */
interface Sender {
  /** The socket's remote address as text. */
  readonly peer: string;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
}

/** About 10 MB of buckets, however many addresses send requests. */
export const maxBuckets = 65_536;

/** When a request of the key will have been answered is not known. */
const busyRetry_s = 1;

/** Made once and shared by all requests: collecting the stack of a new Error would cost more than the rest of a refusal. */
const refusals = {
  missing: fixed(new Problem('missing_api_key')),
  invalid: fixed(new Problem('invalid_api_key')),
  rate: fixed(new Problem('rate_limit_exceeded')),
  guessing: fixed(
    new Problem('rate_limit_exceeded', {
      detail: `Too many requests with an invalid key came from this address; wait ${waitWords}, and check the key.`,
    }),
  ),
  scope: Object.fromEntries(
    scopes.map((scope) => [
      scope,
      fixed(
        new Problem('forbidden_scope', {
          required_scope: scope,
          detail: `Ask the operator for a key with the scope ${scope}.`,
        }),
      ),
    ]),
  ) as Record<Scope, Problem>,
};

/** The keys, their limits, and how many requests of each are running. */
export class Gate {
  readonly keys: KeyStore;
  readonly callers: RateLimiter;
  /** Milliseconds of CPU time that one token pays for. */
  readonly token_ms: number;
  readonly #trustedHops: number;
  readonly #failureQuota: Quota;
  /** Running requests of each key in this process, also of keys without a limit: they may get one meanwhile. */
  readonly #running = new Map<string, number>();
  /** Always local: client addresses do not leave the process, and more replicas do not make guessing feasible. */
  readonly #failures = new Limiter(maxBuckets);

  /** `callers` limits the keys; by default in this process only. */
  constructor(keys: KeyStore, settings: GateSettings, callers: RateLimiter = new Limiter(maxBuckets)) {
    this.keys = keys;
    this.callers = callers;
    this.token_ms = settings.token_ms;
    this.#trustedHops = settings.trusted_hops;
    this.#failureQuota = { rate: settings.auth_failures_per_minute / 60, burst: settings.auth_failure_burst };
  }

  /** Counts a wrong key for its sender. The seconds to wait when there were too many; undefined otherwise. */
  recordFailedAuth({ peer, headers }: Sender, now_ms: number): number | undefined {
    const address = clientAddress(peer, headers.get('x-forwarded-for'), this.#trustedHops);
    const { admitted, rate } = this.#failures.take(address, this.#failureQuota, 1, now_ms);
    return admitted ? undefined : rate.reset_seconds;
  }

  hasRoom({ id, concurrent = Number.POSITIVE_INFINITY }: ApiKey): boolean {
    return (this.#running.get(id) ?? 0) < concurrent;
  }

  /** Counts a request of the key as running until `leave`. */
  enter({ id }: ApiKey): void {
    this.#running.set(id, (this.#running.get(id) ?? 0) + 1);
  }

  leave({ id }: ApiKey): void {
    const left = this.#running.get(id)! - 1;
    if (left > 0) this.#running.set(id, left);
    else this.#running.delete(id);
  }
}

/** Why a request is not admitted; undefined where it is. */
type Refused = Problem | undefined;

/**
 * What one request costs its key: its tokens, and its place among the key's running requests. On admission it pays by the number of its
 * photos or comparisons, at least one token; what its CPU time is worth beyond that is taken when it is known.
 */
export class QuotaUse {
  readonly #gate: Gate;
  readonly #sender: Sender;
  /** Known once the key is verified. */
  key_id: string | undefined;
  /** Known once the request is admitted. */
  key: ApiKey | undefined;
  /** Tokens taken so far. */
  #paid = 0;
  /** CPU time of its jobs so far. */
  #spent_ms = 0;
  #running = false;
  #ended = false;
  #rate: RateState | undefined;
  /** The seconds until the same request may be admitted, after a refusal. */
  retry_s: number | undefined;

  constructor(gate: Gate, sender: Sender) {
    this.#gate = gate;
    this.#sender = sender;
  }

  /**
   * Checks key, scope and rate limit, in this order, and takes tokens (0 are never limited), the first time also a place until `release`.
   * Returns the Problem of a refusal: V8 walks the stack for a throw, which costs a tenth of a refusal. A promise only when a shared limiter
   * asks Redis.
   */
  admit(scope: Scope | 'any', tokens: number, now_ms = Date.now()): Refused | Promise<Refused> {
    const { keys, callers } = this.#gate;
    const presented = presentedKey(this.#sender.headers);
    // A request without a key is not a guess, so it is not limited.
    if (presented === undefined) return refusals.missing;
    // Valid keys are checked before the failures of their address, so that nobody behind the same proxy can lock out their owner.
    const key = keys.verify(presented, now_ms);
    if (key === undefined) {
      this.retry_s = this.#gate.recordFailedAuth(this.#sender, now_ms);
      return this.retry_s === undefined ? refusals.invalid : refusals.guessing;
    }
    this.key_id = key.id;
    if (scope !== 'any' && !key.scopes.includes(scope)) return refusals.scope[scope];
    const price = this.#paid + tokens;
    // No wait would help.
    if (price > key.burst) return new Problem('too_many_images', { limit: key.burst });
    if (this.key === undefined && !this.#gate.hasRoom(key)) {
      this.#rate = callers.settle(key.id, key, 0, now_ms);
      return this.#tooMany(key);
    }
    const admission = callers.take(key.id, key, tokens, now_ms, this.#paid);
    if (admission instanceof Promise) return admission.then((late) => this.#settle(key, late, price));
    return this.#settle(key, admission, price);
  }

  #settle(key: ApiKey, { admitted, rate }: Admission, price: number): Refused {
    this.#rate = rate;
    if (!admitted) {
      this.retry_s = rate.reset_seconds;
      if (price <= 1) return refusals.rate;
      const detail = `This request costs ${price} of the key's tokens, more than it has now; wait ${waitWords}, then send again.`;
      return new Problem('rate_limit_exceeded', { detail });
    }
    this.#paid = price;
    // It may have been answered meanwhile.
    if (this.key !== undefined || this.#ended) return undefined;
    this.key = key;
    if (this.#gate.hasRoom(key)) {
      this.#gate.enter(key);
      this.#running = true;
      return undefined;
    }
    // Others came in between, while a shared limiter was asked.
    this.giveBack();
    this.key = undefined;
    return this.#tooMany(key);
  }

  /** Gives the tokens of a request back that the server was too busy to serve. */
  giveBack(now_ms = Date.now()): void {
    if (this.key === undefined || this.#paid === 0) return;
    this.#rate = this.#gate.callers.settle(this.key.id, this.key, -this.#paid, now_ms);
    this.#paid = 0;
    // Nothing of it is charged later either.
    this.#spent_ms = Number.NEGATIVE_INFINITY;
  }

  /** Adds CPU time of a job of the request. What ends after the response is charged then. */
  spend(cpu_ms: number): void {
    this.#spent_ms += cpu_ms;
    if (this.#ended) this.#charge();
  }

  /** Takes the tokens that the request cost more than it was admitted for. */
  #charge(now_ms = Date.now()): void {
    const { callers, token_ms } = this.#gate;
    const further = this.#spent_ms / token_ms - this.#paid;
    if (this.key === undefined || further <= 0) return;
    this.#paid += further;
    this.#rate = callers.settle(this.key.id, this.key, further, now_ms);
  }

  /**
   * Charges what it cost, gives the place back, and takes none any more. Call it when the response is there; returns its headers that say
   * what is left, and how long to wait.
   */
  release(): [string, string][] {
    this.#ended = true;
    this.#charge();
    if (this.#running) this.#gate.leave(this.key!);
    this.#running = false;
    const headers = this.#rate === undefined ? [] : rateHeaders(this.#rate);
    if (this.retry_s !== undefined) headers.push(['Retry-After', String(this.retry_s)]);
    return headers;
  }

  #tooMany({ concurrent }: ApiKey): Problem {
    this.retry_s = busyRetry_s;
    const detail = `This key may have ${concurrent} running at once; wait for an answer, then send again.`;
    return new Problem('rate_limit_exceeded', { detail });
  }
}

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
function presentedKey(headers: ReadonlyMap<string, string>): string | undefined {
  const key = headers.get('x-api-key') || undefined;
  const bearer = /^bearer +(.+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (key === undefined || bearer === undefined) return key ?? bearer;
  return key === bearer || keyId(bearer) === undefined ? key : contradictory;
}
