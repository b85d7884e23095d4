/** How often µWS's clock is reset: well under its timeout of 10 s, which counts in steps of 4 s. */
const rearmEvery_ms = 4000;

/** How long a body may pause before it is looked at whether it has ended. */
const pause_ms = 2000;

/** µWS has a timeout of its own (10 s, reset only by 160 KiB) that closes without an answer, so it is reset regularly. */
export class UploadClocks {
  readonly #whole: NodeJS.Timeout;
  readonly #pause: NodeJS.Timeout;
  readonly #rearm: NodeJS.Timeout;
  #paused_ms = 0;

  /** `hasEnded`: asked in a pause, whether waiting for more is in vain. */
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
