/**
 * How much memory the bodies of unanswered requests may take together. Uploads hold no place in the queue (a slow sender
 * would keep the workers idle), so this is what bounds them.
 */
export class UploadBudget {
  readonly #limit_bytes: number;
  #used_bytes = 0;

  constructor(limit_bytes: number) {
    this.#limit_bytes = limit_bytes;
  }

  get used_bytes(): number {
    return this.#used_bytes;
  }

  /** Takes `bytes` until the returned function is called; undefined when there is not that much left. */
  reserve(bytes: number): (() => void) | undefined {
    if (this.#used_bytes + bytes > this.#limit_bytes) return undefined;
    this.#used_bytes += bytes;
    let held = bytes;
    return () => {
      this.#used_bytes -= held;
      held = 0;
    };
  }
}
