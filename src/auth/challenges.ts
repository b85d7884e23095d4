import { createHash, createHmac, hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { maxChallenge_characters } from '../endpoints/challenge.ts';
import { type ChallengeFault, Problem } from '../errors.ts';
import { type Step, steps as stepNames } from '../scoring/motion.ts';

/**
 * Challenges of a liveness check. A challenge is a signed token, so the server does not store unused
 * challenges. It stores only the identifiers of used challenges, until their tokens have expired.
 */

/** Layout of a token: version, identifier, hash of the API key's id, expiry in ms, steps, signature. */
const version = 1;
const id_bytes = 16;
const owner_bytes = 8;
const expiry_bytes = 6;
const mac_bytes = 32;
const head_bytes = 1 + id_bytes + owner_bytes + expiry_bytes;

/** Maximum tolerated difference between the clocks of two replicas. */
const skew_ms = 5000;

/** A challenge as the client receives it. */
export interface Issued {
  challenge: string;
  steps: readonly Step[];
  expires_at: string;
}

/** A challenge that a client has sent back and whose signature is valid. */
export interface Redeemed {
  id: string;
  steps: readonly Step[];
  /** Milliseconds since 1970. */
  expires_ms: number;
}

/** Store of used challenges, shared by all replicas. */
export interface SharedClaims {
  /**
   * Resolves to true if no one claimed the identifier within the last `ttl_ms`. Rejects if the store is
   * unavailable.
   */
  claim(id: string, ttl_ms: number): Promise<boolean>;
  /** Removes a claim in the background. Never throws. */
  unclaim(id: string): void;
}

/** The first secret signs new tokens; every secret is accepted for verification. */
export interface Secrets {
  readonly current: readonly Buffer[];
}

interface ChallengeOptions {
  /** Number of steps of a challenge, 1 to 4. */
  steps: number;
  lifetime_s: number;
  secrets: Secrets;
  /** Absent without a shared limiter. */
  shared?: SharedClaims | undefined;
  /** Maximum number of used challenges in memory. */
  capacity?: number;
}

export class Challenges {
  readonly #options: ChallengeOptions;
  readonly #sequences: readonly (readonly Step[])[];
  readonly #used: UsedChallenges;

  constructor(options: ChallengeOptions) {
    this.#options = options;
    this.#sequences = allSequences(options.steps);
    this.#used = new UsedChallenges(1000 * options.lifetime_s, options.capacity);
  }

  /** Issues a new challenge for one API key. */
  issue(key_id: string, now_ms = Date.now()): Issued {
    const { lifetime_s, secrets } = this.#options;
    const steps = this.#sequences[randomInt(this.#sequences.length)]!;
    const expires_ms = now_ms + 1000 * lifetime_s;
    const payload = Buffer.alloc(head_bytes + steps.length);
    payload[0] = version;
    randomBytes(id_bytes).copy(payload, 1);
    ownerOf(key_id).copy(payload, 1 + id_bytes);
    payload.writeUIntBE(expires_ms, head_bytes - expiry_bytes, expiry_bytes);
    for (const [i, step] of steps.entries()) payload[head_bytes + i] = stepNames.indexOf(step);
    const token = Buffer.concat([payload, macOf(payload, secrets.current[0]!)]);
    return {
      challenge: token.toString('base64url'),
      steps,
      expires_at: new Date(expires_ms).toISOString(),
    };
  }

  /** Checks form, signature, key and expiry, in this order. Throws Problem invalid_challenge. */
  verify(token: string, key_id: string, now_ms = Date.now()): Redeemed {
    const payload = this.#payloadOf(token);
    if (payload === undefined) throw invalidChallenge('malformed');
    const owner = payload.subarray(1 + id_bytes, 1 + id_bytes + owner_bytes);
    if (!timingSafeEqual(owner, ownerOf(key_id))) throw invalidChallenge('other_key');
    const expires_ms = payload.readUIntBE(head_bytes - expiry_bytes, expiry_bytes);
    // If a token is valid for longer than a new one, the clock was set back or the lifetime was shortened.
    const left_ms = expires_ms - now_ms;
    if (left_ms <= 0 || left_ms > 1000 * this.#options.lifetime_s + skew_ms)
      throw invalidChallenge('expired');
    const steps = Array.from(payload.subarray(head_bytes), (at) => stepNames[at]!);
    return { id: payload.subarray(1, 1 + id_bytes).toString('base64url'), steps, expires_ms };
  }

  /** Returns the signed part of a token, or undefined if its form or signature is invalid. */
  #payloadOf(token: string): Buffer | undefined {
    if (token.length > maxChallenge_characters || !/^[\w-]+$/.test(token)) return undefined;
    const bytes = Buffer.from(token, 'base64url');
    const payload = bytes.subarray(0, -mac_bytes);
    // The last base64url character can have unused bits, so several strings may decode to the same bytes. Only the
    // canonical string is accepted.
    if (payload.length <= head_bytes || bytes.toString('base64url') !== token) return undefined;
    const mac = bytes.subarray(-mac_bytes);
    const matching = this.#options.secrets.current.filter((secret) =>
      timingSafeEqual(macOf(payload, secret), mac),
    );
    return matching.length > 0 && payload[0] === version ? payload : undefined;
  }

  /**
   * Marks a challenge as used. Rejects with Problem invalid_challenge if it was used before, not_ready if the
   * shared store is unavailable, or overloaded if `capacity` is reached.
   */
  async use({ id, expires_ms }: Redeemed): Promise<void> {
    if (!this.#used.add(id, expires_ms)) throw invalidChallenge('used');
    const { shared, lifetime_s } = this.#options;
    if (shared === undefined) return;
    let isFirst: boolean;
    try {
      isFirst = await shared.claim(id, 1000 * lifetime_s + 2 * skew_ms);
    } catch {
      // Another replica may have accepted the challenge.
      this.#used.remove(id);
      throw new Problem('not_ready', {
        detail:
          'The store of used challenges is unavailable. Wait as long as Retry-After says, then send the request again.',
      });
    }
    if (!isFirst) throw invalidChallenge('used');
  }

  /** Makes a used challenge valid again. Call it if the response is 503. */
  giveBack({ id }: Redeemed): void {
    this.#used.remove(id);
    this.#options.shared?.unclaim(id);
  }

  /** Number of used challenges in memory. */
  get used(): number {
    return this.#used.size;
  }
}

const advice: Readonly<Record<ChallengeFault, string>> = {
  malformed: 'Send the challenge exactly as match/challenge returned it.',
  expired: 'The challenge has expired. Get a new challenge, and take new frames.',
  used: 'The challenge was used before. Get a new challenge, and take new frames.',
  other_key: 'The challenge was issued for another API key. Send it with that key, or get a new challenge.',
};

function invalidChallenge(reason: ChallengeFault): Problem {
  return new Problem('invalid_challenge', { detail: advice[reason], reason });
}

const ownerOf = (key_id: string) =>
  Buffer.from(hash('sha256', key_id, 'hex'), 'hex').subarray(0, owner_bytes);

function macOf(payload: Buffer, secret: Buffer): Buffer {
  return createHmac('sha256', secret).update('facematch challenge\0').update(payload).digest();
}

const horizontal = (step: Step) => step === 'left' || step === 'right';

/**
 * Returns all sequences of this length without the same step twice in a row. Sequences of two or more steps use
 * both axes.
 */
export function allSequences(length: number): Step[][] {
  let sequences: Step[][] = [[]];
  for (let i = 0; i < length; i++) {
    sequences = sequences.flatMap((before) =>
      stepNames.filter((step) => step !== before.at(-1)).map((step) => [...before, step]),
    );
  }
  if (length < 2) return sequences;
  return sequences.filter((steps) => steps.some(horizontal) && !steps.every(horizontal));
}

/**
 * Identifiers of used challenges. An identifier is kept until its token has expired by both the wall clock and
 * the monotonic clock. Setting the wall clock back therefore cannot make a used token valid again.
 */
class UsedChallenges {
  readonly #lifetime_ms: number;
  readonly #capacity: number;
  /** In insertion order, so the oldest entry comes first. */
  readonly #uses = new Map<string, { expires_ms: number; used_ms: number }>();

  /** The default capacity needs about 18 MB of memory. */
  constructor(lifetime_ms: number, capacity = 131_072) {
    this.#lifetime_ms = lifetime_ms;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#uses.size;
  }

  /** Returns false if the identifier was used before. Throws Problem overloaded if `capacity` is reached. */
  add(id: string, expires_ms: number): boolean {
    if (this.#uses.has(id)) return false;
    const used_ms = performance.now();
    this.#dropExpired(used_ms);
    if (this.#uses.size >= this.#capacity) throw new Problem('overloaded');
    this.#uses.set(id, { expires_ms, used_ms });
    return true;
  }

  remove(id: string): void {
    this.#uses.delete(id);
  }

  /** Removes expired identifiers, oldest first, and stops at the first that has not expired. */
  #dropExpired(now_ms: number): void {
    const wall_ms = Date.now();
    for (const [id, { expires_ms, used_ms }] of this.#uses) {
      if (expires_ms > wall_ms || used_ms + this.#lifetime_ms > now_ms) return;
      this.#uses.delete(id);
    }
  }
}

/** Creates a random secret for this process. */
export const randomSecrets = (): Secrets => ({ current: [randomBytes(32)] });

/** Minimum number of characters in a secret. */
export const minSecret_characters = 32;
/** Maximum number of secrets. A rotation needs two. */
const maxSecrets = 8;

/**
 * Returns the SHA-256 of each secret in a text with one secret per line. Ignores empty lines and `#` comments. Returns
 * undefined if there is no secret, if there are too many, or if one is too short.
 */
export function secretsOf(text: string): Buffer[] | undefined {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const given = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (given.length === 0 || given.length > maxSecrets) return undefined;
  if (given.some((line) => line.length < minSecret_characters)) return undefined;
  return given.map((line) => createHash('sha256').update(line).digest());
}
