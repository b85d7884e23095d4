/** Tracks responses that their clients have not read yet. */

export interface UnreadAnswer {
  /** Memory that only this response takes: 0 for a document, which all responses share. */
  readonly held_bytes: number;
  /** Sends as much as fits. Returns the number of bytes accepted so far; any measure that grows will do. */
  push(): number;
  giveUp(): void;
}

/** A response without progress for this long is abandoned. */
const unread_ms = 30_000;

/** Interval of the attempts: well under µWS's timeout of 10 s, which each attempt restarts. */
const look_ms = 2000;

/** Maximum number of entries that are checked when room is needed: each check is a system call. */
const maxLooks = 64;

/**
 * Maximum memory for clients that do not read: some hundreds of match responses, some tens of the largest.
 */
const held_limit_bytes = 32 * 1024 * 1024;

/** Larger responses are sent in pieces, so that neither transport copies the rest. */
export const piece_bytes = 64 * 1024;

/** Limits unread responses in time, and all together in bytes. Connections that do not read are closed. */
export class UnreadAnswers {
  /** Total bytes held for them. */
  held_bytes = 0;
  /** Progress by response; the one without progress for the longest time comes first. */
  readonly #answers = new Map<UnreadAnswer, { taken: number; at_ms: number }>();
  readonly #limit_bytes: number;
  #looks: NodeJS.Timeout | undefined;

  constructor(limit_bytes = held_limit_bytes) {
    this.#limit_bytes = limit_bytes;
  }

  /** Call `delete` when it is sent or its connection has ended. */
  add(answer: UnreadAnswer, taken: number): void {
    this.#answers.set(answer, { taken, at_ms: performance.now() });
    this.held_bytes += answer.held_bytes;
    this.#looks ??= setInterval(() => this.#look(), look_ms).unref();
    this.#makeRoom();
  }

  /**
   * Abandons responses without progress since the last check, then the others, those with the oldest progress
   * first.
   */
  #makeRoom(): void {
    if (this.held_bytes <= this.#limit_bytes) return;
    let looks = maxLooks;
    for (const other of [...this.#answers.keys()]) {
      if (this.held_bytes <= this.#limit_bytes || looks-- === 0) break;
      if (other.held_bytes > 0 && !this.#progresses(other)) this.#giveUp(other);
    }
    for (const other of this.#answers.keys()) {
      if (this.held_bytes <= this.#limit_bytes) break;
      if (other.held_bytes > 0) this.#giveUp(other);
    }
  }

  /** True if its client read something since the last check, or everything. */
  #progresses(answer: UnreadAnswer): boolean {
    const { taken } = this.#answers.get(answer)!;
    const reached = answer.push();
    if (!this.#answers.has(answer)) return true;
    if (reached <= taken) return false;
    this.#answers.delete(answer);
    this.#answers.set(answer, { taken: reached, at_ms: performance.now() });
    return true;
  }

  delete(answer: UnreadAnswer): void {
    if (!this.#answers.delete(answer)) return;
    this.held_bytes -= answer.held_bytes;
    if (this.#answers.size > 0) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
  }

  #look(): void {
    const now_ms = performance.now();
    for (const [answer, { at_ms }] of [...this.#answers]) {
      if (!this.#progresses(answer) && now_ms - at_ms >= unread_ms) this.#giveUp(answer);
    }
  }

  #giveUp(answer: UnreadAnswer): void {
    this.delete(answer);
    answer.giveUp();
  }
}
