/** Limits the responses that clients have not read yet. */

export interface UnreadResponse {
  /** Memory that only this response uses; 0 for a document, because all responses share it. */
  readonly held_bytes: number;
  /** Sends as many bytes as the socket accepts. Returns the progress, a number that never decreases. */
  push(): number;
  giveUp(): void;
}

/** Time without progress after which a response is abandoned. */
const unread_ms = 30_000;

/** Interval of the checks. Each check restarts µWS's timeout of 10 s. */
const check_interval_ms = 2000;

/** Maximum number of responses that are checked to make room, because each check is a system call. */
const maxChecks = 64;

/** Maximum memory of the unread responses of all clients. */
const held_limit_bytes = 32 * 1024 * 1024;

/** Larger responses are sent in pieces of this size, so that the transports do not copy the rest. */
export const piece_bytes = 64 * 1024;

/** Limits the time of each unread response and the memory of all. Closes connections whose client does not read. */
export class UnreadResponses {
  /** Memory of all unread responses. */
  held_bytes = 0;
  /** Progress by response, in ascending order of the time of the last progress. */
  readonly #responses = new Map<UnreadResponse, { taken: number; at_ms: number }>();
  readonly #limit_bytes: number;
  #checks: NodeJS.Timeout | undefined;

  constructor(limit_bytes = held_limit_bytes) {
    this.#limit_bytes = limit_bytes;
  }

  /** Adds a response. Call `delete` when it is sent or its connection has ended. */
  add(response: UnreadResponse, taken: number): void {
    this.#responses.set(response, { taken, at_ms: performance.now() });
    this.held_bytes += response.held_bytes;
    this.#checks ??= setInterval(() => this.#check(), check_interval_ms).unref();
    this.#makeRoom();
  }

  /** Abandons responses until the limit is met: first those without progress since the last check, then the others. */
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

  /** Returns true if the client has read something since the last check, or has read everything. */
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
