/** Interval at which µWS's timeout is restarted. The timeout is 10 s, counted in steps of 4 s. */
const rearmEvery_ms = 4000;

/** Time without data after which the body is checked for completeness. */
const pause_ms = 2000;

/**
 * Timeouts of an upload: for the whole body, and for a pause in it. Also restarts µWS's own timeout (10 s, reset only
 * by 160 KiB of data), which would close the connection without a response.
 */
export class UploadClocks {
  readonly #whole: NodeJS.Timeout;
  readonly #pause: NodeJS.Timeout;
  readonly #rearm: NodeJS.Timeout;
  #paused_ms = 0;

  /** `hasEnded`: called in a pause; returns true if the body is complete. */
  constructor(
    timeout_ms: number,
    idle_ms: number,
    hasEnded: () => boolean,
    onTimeout: () => void,
    rearm: () => void,
  ) {
    const expire = () => {
      this.stop();
      onTimeout();
    };
    this.#whole = setTimeout(expire, timeout_ms);
    const period_ms = Math.min(pause_ms, idle_ms);
    this.#pause = setTimeout(() => {
      this.#paused_ms += period_ms;
      if (this.#paused_ms >= idle_ms || hasEnded()) expire();
      else this.#pause.refresh();
    }, period_ms);
    this.#rearm = setInterval(rearm, rearmEvery_ms);
  }

  touch(): void {
    this.#paused_ms = 0;
    this.#pause.refresh();
  }

  stop(): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#pause);
    clearInterval(this.#rearm);
  }
}
