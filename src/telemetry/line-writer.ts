import { close, constants, open, openSync, write } from 'node:fs';

interface LinesOptions {
  /** A path to append to, or the number of an open file. */
  dest: string | number;
  /** Mode of a newly created file. */
  mode?: number;
  /** Maximum time that lines wait for others, to be written together. 0: each is written at once. */
  gather_ms?: number;
  /** Called once when lines cannot be written, until they can be again. Writing is retried in any case. */
  onError?(error: Error): void;
  /** Called when lines are written again, with the number of lines dropped since the last call. */
  onDropped(lines: number): void;
}

/** Maximum number of bytes of lines that wait for a slow reader or disk. */
const maxWaiting_bytes = 8 * 1024 * 1024;
/** Maximum number of bytes that are written together. */
const batch_bytes = 64 * 1024;
const flush_ms = 1000;
/** A slow reader may continue at any moment, and someone may free space on a full disk. */
const retry_ms = { slow: 20, broken: 1000 };

/** Without O_NONBLOCK (which Windows lacks) opening or writing a named pipe would wait for a reader. */
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

const newline = 10;

/** Counts the lines that end in a text, or in its bytes. */
function linesIn(text: string | Buffer): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/**
 * Writes lines on a libuv thread, so that nothing slow blocks the main thread. Lines that do not fit are
 * dropped and counted. pino's own destination is not used: on a full disk it retries forever at the end of
 * the process, and reopening leaves it with wrong descriptors.
 */
export class LineWriter {
  readonly #options: LinesOptions;
  #file: number;
  /** Descriptor that was reopened, for use after the write in progress. */
  #next: number | undefined;
  #opening: 'no' | 'yes' | 'again' = 'no';
  /** Batches that wait, followed by the lines of the one that is being collected. */
  readonly #batches: string[] = [];
  #gathered = '';
  #gathering: NodeJS.Timeout | undefined;
  /** Bytes of all lines that wait. */
  #bytes = 0;
  /** The batch that is being written, and how much of it has been written. */
  #batch = Buffer.alloc(0);
  #written = 0;
  #writing = false;
  #fault: NodeJS.ErrnoException | undefined;
  #retrying: NodeJS.Timeout | undefined;
  /** Number of lines dropped since startup, or lost at the end. */
  dropped = 0;
  /** Number of them that was reported to `onDropped`. */
  #reported = 0;
  #onIdle = () => {};
  #ended = false;

  /** Throws the system's error if the path cannot be opened. */
  constructor(options: LinesOptions) {
    this.#options = options;
    const { dest, mode } = options;
    this.#file = typeof dest === 'number' ? dest : openSync(dest, flags, mode);
  }

  /** Number of lines that wait to be written. They are counted at each call: at most 8 MiB. */
  get waiting(): number {
    const texts = [this.#batch.subarray(this.#written), ...this.#batches, this.#gathered];
    return texts.reduce((sum, text) => sum + linesIn(text), 0);
  }

  /** Whole lines, each with its line end. */
  write(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.#bytes + bytes > maxWaiting_bytes) {
      this.dropped += linesIn(text);
      return;
    }
    this.#bytes += bytes;
    this.#gathered += text;
    if (this.#gathered.length >= batch_bytes) this.#pass();
    else if (this.#options.gather_ms) {
      this.#gathering ??= setTimeout(() => this.#pass(), this.#options.gather_ms);
    } else if (!this.#writing && this.#fault === undefined) this.#pass();
  }

  /** Reopens the path after the file has been moved away. */
  reopen(): void {
    if (this.#opening !== 'no') {
      this.#opening = 'again';
      return;
    }
    this.#opening = 'yes';
    const { dest, mode, onError } = this.#options;
    open(dest as string, flags, mode, (error, file) => {
      const isAsked = this.#opening === 'again';
      this.#opening = 'no';
      if (error) onError?.(error);
      else {
        if (this.#next !== undefined) close(this.#next);
        this.#next = file;
        this.#proceed();
      }
      if (isAsked) this.reopen();
    });
  }

  /**
   * Waits until everything is written or cannot be written, at most one second. For the end of the process.
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

  /** Call it after `flush`. Waiting lines are lost and count as dropped; returns their number. */
  end(): number {
    if (this.#ended) return 0;
    this.#ended = true;
    const lost = this.waiting;
    this.dropped += lost;
    clearTimeout(this.#retrying);
    if (!this.#writing && typeof this.#options.dest === 'string') close(this.#file);
    return lost;
  }

  #pass(): void {
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
    if (this.#next !== undefined) this.#change(this.#next);
    if (this.#written === this.#batch.length) {
      if (!this.#options.gather_ms && this.#batches.length === 0) this.#collect();
      this.#batch = Buffer.from(this.#batches.shift() ?? '');
      this.#written = 0;
    }
    if (this.#batch.length === 0) {
      this.#rest();
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

  #change(file: number): void {
    close(this.#file);
    this.#file = file;
    this.#next = undefined;
    // A line of which only the beginning was written is written again to the new file.
    const start = this.#written === 0 ? 0 : this.#batch.lastIndexOf(newline, this.#written - 1) + 1;
    this.#bytes += this.#written - start;
    this.#written = start;
  }

  #rest(): void {
    this.#onIdle();
    const lines = this.dropped - this.#reported;
    this.#reported = this.dropped;
    if (lines > 0) this.#options.onDropped(lines);
  }

  #fail(error: NodeJS.ErrnoException): void {
    // A pipe that did not accept the write: its reader is slow.
    const isSlow = error.code === 'EAGAIN';
    if (this.#fault === undefined && !isSlow) this.#options.onError?.(error);
    this.#fault = error;
    if (!isSlow) this.#onIdle();
    const pause_ms = isSlow ? retry_ms.slow : retry_ms.broken;
    this.#retrying = setTimeout(() => this.#proceed(), pause_ms).unref();
  }
}
