/**
 * The clocks of one upload: how long it may take in all, and how long it may pause. µWS has a clock of its own (10 s,
 * reset only by 160 KiB), which would close a slow connection without an answer; it is held off meanwhile.
 */
export interface UploadWatchOptions {
  timeout_ms: number;
  idle_ms: number;
  onTimeout(): void;
  /** Sets µWS's own clock back. */
  rearm(): void;
}

/** Well under µWS's 10 s, whose clock ticks in steps of 4. */
const rearmEvery_ms = 4000;

export class UploadWatch {
  readonly #whole: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout;
  readonly #rearm: NodeJS.Timeout;

  constructor(options: UploadWatchOptions) {
    const expire = () => {
      this.stop();
      options.onTimeout();
    };
    // Timers of one duration share a list in Node, so three for each upload cost next to nothing.
    this.#whole = setTimeout(expire, options.timeout_ms);
    this.#idle = setTimeout(expire, options.idle_ms);
    this.#rearm = setInterval(options.rearm, rearmEvery_ms);
  }

  /** Bytes have come. */
  touch(): void {
    this.#idle.refresh();
  }

  stop(): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#idle);
    clearInterval(this.#rearm);
  }
}
