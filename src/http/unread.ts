/** Tracks responses that their clients have not read yet. */

export interface UnreadResponse {
  /** Memory that only this response takes: 0 for a document, which all responses share. */
  readonly held_bytes: number;
  /** Sends as many bytes as the socket accepts. Returns the progress so far, in any unit that only grows. */
  push(): number;
  giveUp(): void;
}

/** A response without progress for this long is abandoned. */
const unread_ms = 30_000;

/** Interval of the attempts: well under µWS's timeout of 10 s, which each attempt restarts. */
const check_interval_ms = 2000;

/** Maximum number of entries that are checked when room is needed: each check is a system call. */
const maxChecks = 64;

/**
 * Maximum memory for clients that do not read: some hundreds of match responses, some tens of the largest.
 */
const held_limit_bytes = 32 * 1024 * 1024;

/** Larger responses are sent in pieces, so that neither transport copies the rest. */
export const piece_bytes = 64 * 1024;

/** Limits unread responses in time, and all together in bytes. Connections that do not read are closed. */
export class UnreadResponses {
  /** Total bytes held for them. */
  held_bytes = 0;
  /** Progress by response; the one without progress for the longest time comes first. */
  readonly #responses = new Map<UnreadResponse, { taken: number; at_ms: number }>();
  readonly #limit_bytes: number;
  #checks: NodeJS.Timeout | undefined;

  constructor(limit_bytes = held_limit_bytes) {
    this.#limit_bytes = limit_bytes;
  }

  /** Call `delete` when it is sent or its connection has ended. */
  add(response: UnreadResponse, taken: number): void {
    this.#responses.set(response, { taken, at_ms: performance.now() });
    this.held_bytes += response.held_bytes;
    this.#checks ??= setInterval(() => this.#check(), check_interval_ms).unref();
    this.#makeRoom();
  }

  /**
   * Abandons responses without progress since the last check, then the others, those with the oldest progress
   * first.
   */
  #makeRoom(): void {
    if (this.held_bytes <= this.#limit_bytes) return;
    let checks = maxChecks;
    for (const other of [...this.#responses.keys()]) {
      if (this.held_bytes <= this.#limit_bytes || checks-- === 0) break;
      if (other.held_bytes > 0 && !this.#progresses(other)) this.#giveUp(other);
    }
    for (const other of this.#responses.keys()) {
      if (this.held_bytes <= this.#limit_bytes) break;
      if (other.held_bytes > 0) this.#giveUp(other);
    }
  }

  /** True if its client read something since the last check, or everything. */
  #progresses(response: UnreadResponse): boolean {
    const { taken } = this.#responses.get(response)!;
    const reached = response.push();
    if (!this.#responses.has(response)) return true;
    if (reached <= taken) return false;
    this.#responses.delete(response);
    this.#responses.set(response, { taken: reached, at_ms: performance.now() });
    return true;
  }

  delete(response: UnreadResponse): void {
    if (!this.#responses.delete(response)) return;
    this.held_bytes -= response.held_bytes;
    if (this.#responses.size > 0) return;
    clearInterval(this.#checks);
    this.#checks = undefined;
  }

  #check(): void {
    const now_ms = performance.now();
    for (const [response, { at_ms }] of [...this.#responses]) {
      if (!this.#progresses(response) && now_ms - at_ms >= unread_ms) this.#giveUp(response);
    }
  }

  #giveUp(response: UnreadResponse): void {
    this.delete(response);
    response.giveUp();
  }
}
