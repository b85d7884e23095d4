import { close, constants, open, openSync, write } from 'node:fs';

interface LinesOptions {
  /** A path, which is appended to, or the number of an open file. */
  dest: string | number;
  /** The mode of a file that is made. */
  mode?: number;
  /** How long lines wait for others, to be written together. 0: each is written at once. */
  gather_ms?: number;
  /** LineWriter cannot be written. Called once, until they can be again; they are tried again in any case. */
  onError?(error: Error): void;
  /** So many lines were dropped since the last call; now they flow again. */
  onDropped(lines: number): void;
}

/** Most bytes of lines that wait for a slow reader or disk. */
const maxWaiting_bytes = 8 * 1024 * 1024;
/** As much as this is written together at most. */
const batch_bytes = 64 * 1024;
const flush_ms = 1000;
/** A slow reader may read on at any moment, a full disk is cleared by somebody. */
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
 * LineWriter that a libuv thread writes, so that nothing slow blocks the main thread. Those that do not fit are dropped and counted. Not pino's own
 * destination: on a full disk that retries for ever at the end of the process, and reopening leaves it with wrong descriptors.
 */
export class LineWriter {
  readonly #options: LinesOptions;
  #file: number;
  /** Opened again, for after the write in progress. */
  #next: number | undefined;
  #opening: 'no' | 'yes' | 'again' = 'no';
  /** Batches that wait, behind them the lines of the one that is being gathered. */
  readonly #batches: string[] = [];
  #gathered = '';
  #gathering: NodeJS.Timeout | undefined;
  /** Bytes of all lines that wait. */
  #bytes = 0;
  /** What is being written, and how much of it has been. */
  #batch = Buffer.alloc(0);
  #written = 0;
  #writing = false;
  #fault: NodeJS.ErrnoException | undefined;
  #retrying: NodeJS.Timeout | undefined;
  /** How many lines were dropped since the start, or lost at the end. */
  dropped = 0;
  /** How many of them `onDropped` was told. */
  #told = 0;
  #onIdle = () => {};
  #ended = false;

  /** Throws the system's error when the path cannot be opened. */
  constructor(options: LinesOptions) {
    this.#options = options;
    const { dest, mode } = options;
    this.#file = typeof dest === 'number' ? dest : openSync(dest, flags, mode);
  }

  /** How many lines wait to be written. They are counted at each call: at most 8 MiB. */
  get waiting(): number {
    const texts = [this.#batch.subarray(this.#written), ...this.#batches, this.#gathered];
    return texts.reduce((sum, text) => sum + linesIn(text), 0);
  }

  /** Whole lines, each with its end. */
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

  /** Opens the path again, after the file has been moved away. */
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

  /** For the end of the process: waits until all is written or cannot be, a second at most. Resolves to whether no thread is stuck in a write. */
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

  /** Call it after `flush`. LineWriter that still wait are lost, and count as dropped; returns how many there are. */
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
    // A line that only its beginning was written of is whole in the new file.
    const start = this.#written === 0 ? 0 : this.#batch.lastIndexOf(newline, this.#written - 1) + 1;
    this.#bytes += this.#written - start;
    this.#written = start;
  }

  #rest(): void {
    this.#onIdle();
    const lines = this.dropped - this.#told;
    this.#told = this.dropped;
    if (lines > 0) this.#options.onDropped(lines);
  }

  #fail(error: NodeJS.ErrnoException): void {
    // A pipe of which nobody waits for its writers: its reader is slow.
    const isSlow = error.code === 'EAGAIN';
    if (this.#fault === undefined && !isSlow) this.#options.onError?.(error);
    this.#fault = error;
    if (!isSlow) this.#onIdle();
    const pause_ms = isSlow ? retry_ms.slow : retry_ms.broken;
    this.#retrying = setTimeout(() => this.#proceed(), pause_ms).unref();
  }
}
