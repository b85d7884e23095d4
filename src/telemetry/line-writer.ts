import { close, constants, open, openSync, write } from 'node:fs';

interface LinesOptions {
  /** Path of a file to append to, or an open descriptor. */
  dest: string | number;
  /** Mode of a newly created file. */
  mode?: number;
  /** Maximum time that lines wait to be written together with later lines; 0 by default. */
  gather_ms?: number;
  /** Called once when writing begins to fail, and when `reopen` fails. Writing is retried. */
  onError?(error: Error): void;
  /** Called when no line waits, if lines were dropped since the last call. `lines`: their number. */
  onDropped(lines: number): void;
}

/** Maximum size of the lines that wait for a slow reader or disk. */
const maxWaiting_bytes = 8 * 1024 * 1024;
/** Size at which gathered lines are written without further waiting. */
const batch_bytes = 64 * 1024;
const flush_ms = 1000;
/** Pause before the next attempt: if a pipe is full, and after any other error, such as a full disk. */
const retry_ms = { slow: 20, broken: 1000 };

/** With O_NONBLOCK, which Windows lacks, opening or writing a named pipe does not wait for a reader. */
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

const newline = 10;

/** Returns the number of line ends in a text, or in its bytes. */
function linesIn(text: string | Buffer): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** Returns true if a pipe is full, because its reader is slow. */
const isFullPipe = ({ code }: NodeJS.ErrnoException): boolean => code === 'EAGAIN';

/**
 * Writes lines on a libuv thread, so that a slow reader or disk does not block the main thread. Lines beyond
 * `maxWaiting_bytes` are dropped and counted. pino's own writer is not used: at the end of the process it retries
 * forever on a full disk, and after a reopen it may use wrong descriptors.
 */
export class LineWriter {
  readonly #options: LinesOptions;
  #file: number;
  /** Descriptor of the reopened file, for use after the write in progress. */
  #next: number | undefined;
  #opening: 'no' | 'yes' | 'again' = 'no';
  /** Waiting batches. The lines of the next batch are collected in `#gathered`. */
  readonly #batches: string[] = [];
  #gathered = '';
  #gathering: NodeJS.Timeout | undefined;
  /** Number of bytes of all waiting lines. */
  #bytes = 0;
  /** The batch that is being written, and the number of its bytes that have been written. */
  #batch = Buffer.alloc(0);
  #written = 0;
  #writing = false;
  #fault: NodeJS.ErrnoException | undefined;
  #retrying: NodeJS.Timeout | undefined;
  /** Number of lines dropped since startup, or lost at the end. */
  dropped = 0;
  /** Number of dropped lines that were reported to `onDropped`. */
  #reported = 0;
  #onIdle = () => {};
  #ended = false;

  /** Throws the system's error if the path cannot be opened. */
  constructor(options: LinesOptions) {
    this.#options = options;
    const { dest, mode } = options;
    this.#file = typeof dest === 'number' ? dest : openSync(dest, flags, mode);
  }

  /** Number of waiting lines. Each call counts them. */
  get waiting(): number {
    const texts = [this.#batch.subarray(this.#written), ...this.#batches, this.#gathered];
    return texts.reduce((sum, text) => sum + linesIn(text), 0);
  }

  /** Writes whole lines. `text`: lines, each with a line end. */
  write(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.#bytes + bytes > maxWaiting_bytes) {
      this.dropped += linesIn(text);
      return;
    }
    this.#bytes += bytes;
    this.#gathered += text;
    if (this.#gathered.length >= batch_bytes) this.#queueBatch();
    else if (this.#options.gather_ms) {
      this.#gathering ??= setTimeout(() => this.#queueBatch(), this.#options.gather_ms);
    } else if (!this.#writing && this.#fault === undefined) this.#queueBatch();
  }

  /** Opens the path again, after the file was moved. */
  reopen(): void {
    if (this.#opening !== 'no') {
      this.#opening = 'again';
      return;
    }
    this.#opening = 'yes';
    const { dest, mode, onError } = this.#options;
    open(dest as string, flags, mode, (error, file) => {
      const isAgain = this.#opening === 'again';
      this.#opening = 'no';
      if (error) onError?.(error);
      else {
        if (this.#next !== undefined) close(this.#next);
        this.#next = file;
        this.#proceed();
      }
      if (isAgain) this.reopen();
    });
  }

  /**
   * Waits until all lines are written or writing fails, for at most one second. Call it at the end of the process.
   * Resolves to true if no thread is stuck in a write.
   */
  async flush(): Promise<boolean> {
    if (this.#ended) return !this.#writing;
    this.#collect();
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, flush_ms);
      this.#onIdle = () => {
        clearTimeout(late);
        resolve();
      };
      this.#proceed();
    });
    return !this.#writing;
  }

  /** Stops writing, and returns the number of waiting lines, which are lost. Call it after `flush`. */
  end(): number {
    if (this.#ended) return 0;
    this.#ended = true;
    const lost = this.waiting;
    this.dropped += lost;
    clearTimeout(this.#retrying);
    if (!this.#writing && typeof this.#options.dest === 'string') close(this.#file);
    return lost;
  }

  #queueBatch(): void {
    this.#collect();
    if (this.#fault === undefined) this.#proceed();
  }

  #collect(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    if (this.#gathered !== '') this.#batches.push(this.#gathered);
    this.#gathered = '';
  }

  #proceed(): void {
    if (this.#writing || this.#ended) return;
    clearTimeout(this.#retrying);
    if (this.#next !== undefined) this.#switchTo(this.#next);
    if (this.#written === this.#batch.length) {
      if (!this.#options.gather_ms && this.#batches.length === 0) this.#collect();
      this.#batch = Buffer.from(this.#batches.shift() ?? '');
      this.#written = 0;
    }
    if (this.#batch.length === 0) {
      this.#becomeIdle();
      return;
    }
    this.#writing = true;
    write(this.#file, this.#batch, this.#written, null, null, (error, written) => {
      this.#writing = false;
      if (error) this.#fail(error);
      else {
        this.#fault = undefined;
        this.#written += written;
        this.#bytes -= written;
        this.#proceed();
      }
    });
  }

  #switchTo(file: number): void {
    close(this.#file);
    this.#file = file;
    this.#next = undefined;
    // A line that was written only in part is written again to the new file.
    const start = this.#written === 0 ? 0 : this.#batch.lastIndexOf(newline, this.#written - 1) + 1;
    this.#bytes += this.#written - start;
    this.#written = start;
  }

  #becomeIdle(): void {
    this.#onIdle();
    const lines = this.dropped - this.#reported;
    this.#reported = this.dropped;
    if (lines > 0) this.#options.onDropped(lines);
  }

  #fail(error: NodeJS.ErrnoException): void {
    const isSlow = isFullPipe(error);
    const wasBroken = this.#fault !== undefined && !isFullPipe(this.#fault);
    if (!isSlow && !wasBroken) this.#options.onError?.(error);
    this.#fault = error;
    if (!isSlow) this.#onIdle();
    const pause_ms = isSlow ? retry_ms.slow : retry_ms.broken;
    this.#retrying = setTimeout(() => this.#proceed(), pause_ms).unref();
  }
}
