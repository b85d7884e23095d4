import type { Config } from '../config/config.ts';
import { Problem, waitText } from '../errors.ts';
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

/** The parts of a request that identify its sender. */
interface Sender {
  /** The socket's remote address as text. */
  readonly peer: string;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Maximum number of buckets in one limiter. They need about 10 MB of memory. */
export const maxBuckets = 65_536;

/** Retry-After in seconds for a key with too many concurrent requests: an estimate of when one of them ends. */
const busyRetry_s = 1;

/**
 * Created once and shared by all requests, because collecting the stack of a new Error would cost more than
 * the rest of a rejection.
 */
const rejections = {
  missing: fixed(new Problem('missing_api_key')),
  invalid: fixed(new Problem('invalid_api_key')),
  rate: fixed(new Problem('rate_limit_exceeded')),
  guessing: fixed(
    new Problem('rate_limit_exceeded', {
      detail: `This IP address sent too many requests with an invalid key; wait ${waitText}, and check the key.`,
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

/** Holds the API keys, their rate limits, and the number of running requests of each key. */
export class Gate {
  readonly keys: KeyStore;
  readonly callers: RateLimiter;
  /** CPU time in milliseconds that one token covers. */
  readonly token_ms: number;
  readonly #trustedHops: number;
  readonly #failureQuota: Quota;
  /**
   * Number of running requests of each key in this process. Keys without a limit are counted too, because a change of
   * the key file may add a limit.
   */
  readonly #running = new Map<string, number>();
  /**
   * Always local, so that client addresses do not leave the process. More replicas do not make guessing a key
   * feasible.
   */
  readonly #failures = new Limiter(maxBuckets);

  /** `callers`: rate limiter of the keys; by default local to this process. */
  constructor(keys: KeyStore, settings: GateSettings, callers: RateLimiter = new Limiter(maxBuckets)) {
    this.keys = keys;
    this.callers = callers;
    this.token_ms = settings.token_ms;
    this.#trustedHops = settings.trusted_hops;
    this.#failureQuota = { rate: settings.auth_failures_per_minute / 60, burst: settings.auth_failure_burst };
  }

  /**
   * Counts a failed authentication of this sender. Returns the seconds to wait if there were too many, otherwise
   * undefined.
   */
  recordFailedAuth({ peer, headers }: Sender, now_ms: number): number | undefined {
    const address = clientAddress(peer, headers.get('x-forwarded-for'), this.#trustedHops);
    const { admitted, rate } = this.#failures.take(address, this.#failureQuota, 1, now_ms);
    return admitted ? undefined : rate.reset_seconds;
  }

  hasRoom({ id, concurrent = Number.POSITIVE_INFINITY }: ApiKey): boolean {
    return (this.#running.get(id) ?? 0) < concurrent;
  }

  /** Counts a request of the key as running until `leave` is called. */
  enter({ id }: ApiKey): void {
    this.#running.set(id, (this.#running.get(id) ?? 0) + 1);
  }

  leave({ id }: ApiKey): void {
    const left = this.#running.get(id)! - 1;
    if (left > 0) this.#running.set(id, left);
    else this.#running.delete(id);
  }
}

/** Reason for not admitting a request; undefined if it is admitted. */
type Rejection = Problem | undefined;

/**
 * The part of a key's quota that one request uses: tokens and one concurrent request. Admission takes one token,
 * and more for further images. CPU time beyond these tokens costs more tokens after the jobs have run.
 */
export class QuotaUse {
  readonly #gate: Gate;
  readonly #sender: Sender;
  /** Set once the key is verified. */
  key_id: string | undefined;
  /** Set once the request is admitted. */
  key: ApiKey | undefined;
  /** Tokens taken from the bucket so far. */
  #paid = 0;
  /** CPU time of the request's body and its jobs so far. */
  #spent_ms = 0;
  #running = false;
  #ended = false;
  #rate: RateState | undefined;
  /** Seconds to wait before the rejected request may be sent again. */
  retry_s: number | undefined;

  constructor(gate: Gate, sender: Sender) {
    this.#gate = gate;
    this.#sender = sender;
  }

  /**
   * Checks key, scope, cost, concurrent requests and rate limit, in this order, and takes tokens. The first admitted
   * call also counts the request as running until `release`. Returns the Problem instead of throwing it, because
   * throwing would add a tenth to the cost of a rejection. Returns a promise only when a shared limiter asks Redis.
   */
  admit(scope: Scope | 'any', tokens: number, now_ms = Date.now()): Rejection | Promise<Rejection> {
    const { keys, callers } = this.#gate;
    const presented = presentedKey(this.#sender.headers);
    // A request without a key is not a guess, so failed authentications do not limit it.
    if (presented === undefined) return rejections.missing;
    // A valid key is accepted even if its IP address has too many failed authentications. Otherwise other clients
    // behind the same proxy could lock the owner out.
    const key = keys.verify(presented, now_ms);
    if (key === undefined) {
      this.retry_s = this.#gate.recordFailedAuth(this.#sender, now_ms);
      return this.retry_s === undefined ? rejections.invalid : rejections.guessing;
    }
    this.key_id = key.id;
    if (scope !== 'any' && !key.scopes.includes(scope)) return rejections.scope[scope];
    const cost = this.#paid + tokens;
    // The bucket never holds this many tokens, so no Retry-After is sent.
    if (cost > key.burst) return new Problem('too_many_images', { limit: key.burst });
    if (this.key === undefined && !this.#gate.hasRoom(key)) {
      this.#rate = callers.settle(key.id, key, 0, now_ms);
      return this.#tooMany(key);
    }
    const admission = callers.take(key.id, key, tokens, now_ms, this.#paid);
    if (admission instanceof Promise) return admission.then((late) => this.#settle(key, late, cost));
    return this.#settle(key, admission, cost);
  }

  #settle(key: ApiKey, { admitted, rate }: Admission, cost: number): Rejection {
    this.#rate = rate;
    if (!admitted) {
      this.retry_s = rate.reset_seconds;
      if (cost <= 1) return rejections.rate;
      const detail = `This request costs ${cost} tokens, more than the key has now; wait ${waitText}, then send again.`;
      return new Problem('rate_limit_exceeded', { detail });
    }
    this.#paid = cost;
    // The request may have been released while the shared limiter was asked.
    if (this.key !== undefined || this.#ended) return undefined;
    this.key = key;
    if (this.#gate.hasRoom(key)) {
      this.#gate.enter(key);
      this.#running = true;
      return undefined;
    }
    // Other requests may have been admitted while the shared limiter was asked.
    this.giveBack();
    this.key = undefined;
    return this.#tooMany(key);
  }

  /** Refunds the tokens of a request that was not served. */
  giveBack(now_ms = Date.now()): void {
    if (this.key === undefined || this.#paid === 0) return;
    this.#rate = this.#gate.callers.settle(this.key.id, this.key, -this.#paid, now_ms);
    this.#paid = 0;
    // Later CPU time of this request costs no tokens.
    this.#spent_ms = Number.NEGATIVE_INFINITY;
  }

  /** Adds the CPU time of the body or of one job. Takes the tokens of a job that ends after the response. */
  spend(cpu_ms: number): void {
    this.#spent_ms += cpu_ms;
    if (this.#ended) this.#takeTokens();
  }

  /** Takes tokens for CPU time that the tokens taken so far do not cover. */
  #takeTokens(now_ms = Date.now()): void {
    const { callers, token_ms } = this.#gate;
    const further = this.#spent_ms / token_ms - this.#paid;
    if (this.key === undefined || further <= 0) return;
    this.#paid += further;
    this.#rate = callers.settle(this.key.id, this.key, further, now_ms);
  }

  /**
   * Takes the tokens still due, and ends the request. Call it when the response is ready. Returns its rate limit
   * and Retry-After headers, if any.
   */
  release(): [string, string][] {
    this.#ended = true;
    this.#takeTokens();
    if (this.#running) this.#gate.leave(this.key!);
    this.#running = false;
    const headers = this.#rate === undefined ? [] : rateHeaders(this.#rate);
    if (this.retry_s !== undefined) headers.push(['Retry-After', String(this.retry_s)]);
    return headers;
  }

  #tooMany({ concurrent }: ApiKey): Problem {
    this.retry_s = busyRetry_s;
    const detail = `This key may have ${concurrent} concurrent requests; wait for a response, then send again.`;
    return new Problem('rate_limit_exceeded', { detail });
  }
}

function fixed(problem: Problem): Problem {
  Object.freeze(problem.extras);
  return Object.freeze(problem);
}

/** Text that is rejected as an invalid key. */
const contradictory = 'two keys';

/**
 * Returns the key that a request presents: `x-api-key`, or the token of `Authorization: Bearer` (RFC 6750,
 * section 2.1, case-insensitive scheme); undefined if there is no key. If a request sends both, a token that
 * does not look like a key is ignored, because it is meant for a gateway. A token that looks like another key
 * makes the request invalid.
 */
function presentedKey(headers: ReadonlyMap<string, string>): string | undefined {
  const key = headers.get('x-api-key') || undefined;
  const bearer = /^bearer +(.+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (key === undefined || bearer === undefined) return key ?? bearer;
  return key === bearer || keyId(bearer) === undefined ? key : contradictory;
}
