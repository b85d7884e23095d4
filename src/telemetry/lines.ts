import { pino } from 'pino';

interface LinesOptions {
  /** A path, or the number of an open file. */
  dest: string | number;
  mode?: number;
  /** How long lines wait for others, to be written together. 0: each is written at once. */
  gather_ms?: number;
  /** A line cannot be written; it is tried again with the next one. */
  onError?(error: Error): void;
  /** So many lines were dropped since the last call; now they flow again. */
  onDropped(lines: number): void;
}

/** Most bytes of lines that wait for a slow reader or disk. */
const maxWaiting_bytes = 8 * 1024 * 1024;
/** As much as this is written together at most. */
const batch_bytes = 64 * 1024;
const flush_ms = 1000;

/** Lines that a libuv thread writes, so that nothing slow blocks the main thread. Those that do not fit are dropped and counted. */
export class Lines {
  readonly #destination: ReturnType<typeof pino.destination>;
  readonly #gather_ms: number;
  #gathered = '';
  #timer: NodeJS.Timeout | undefined;
  /** Since the start. */
  dropped = 0;
  /** Those that `onDropped` was told. */
  #told = 0;
  #broken = false;

  constructor({ dest, mode, gather_ms = 0, onError, onDropped }: LinesOptions) {
    this.#gather_ms = gather_ms;
    // With a minLength of 0 flush() would not wait for the write in progress.
    const options = { dest, append: true, sync: false, minLength: 1, maxLength: maxWaiting_bytes };
    this.#destination = pino.destination(mode === undefined ? options : { ...options, mode });
    this.#destination.on('error', (error: Error) => {
      this.#broken = true;
      onError?.(error);
    });
    this.#destination.on('drop', (text: string) => {
      this.dropped += text.split('\n').length - 1;
    });
    this.#destination.on('drain', () => {
      this.#broken = false;
      const lines = this.dropped - this.#told;
      this.#told = this.dropped;
      if (lines > 0) onDropped(lines);
    });
  }

  /** Whole lines, each with its end. */
  write(text: string): void {
    this.#gathered += text;
    if (this.#gather_ms === 0 || this.#gathered.length >= batch_bytes) this.#pass();
    else this.#timer ??= setTimeout(() => this.#pass(), this.#gather_ms);
  }

  #pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#gathered;
    this.#gathered = '';
    if (text !== '') this.#destination.write(text);
  }

  /** Opens the path again, after the file has been moved away. */
  reopen(): void {
    this.#pass();
    this.#destination.reopen();
  }

  /** For the end of the process: waits until everything is written. Resolves to false when that takes longer than a second. */
  flush(): Promise<boolean> {
    this.#pass();
    // Such as a standard error that is closed.
    if (this.#broken) return Promise.resolve(true);
    return new Promise((resolve) => {
      const late = setTimeout(() => resolve(this.#broken), flush_ms);
      this.#destination.flush(() => {
        clearTimeout(late);
        resolve(true);
      });
    });
  }

  /** Call it after `flush`. */
  end(): void {
    this.#destination.end();
  }
}
