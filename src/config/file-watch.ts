import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

interface FollowerOptions {
  files: readonly string[];
  interval_ms: number;
  /** Reads the files as they are now; throws or rejects when it cannot. Never called twice at once. */
  reload(): void | Promise<void>;
  /** The files could not be read. Called once for each change of them and reason; they are tried again in any case. */
  onFailure(error: Error): void;
}

export interface FollowerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Most polls until a change is tried, or tried again, whatever the files do meanwhile. */
const max_polls = 20;

/**
 * Follows files by polling, because file events are missing on network mounts and for replaced links and folders. A change is read when it
 * is stable for two polls, so that a writer has finished, and again, at growing intervals, until that works. Does not keep the process
 * alive.
 */
export class FileFollower {
  readonly #options: FollowerOptions;
  /** State of the files that were read last. */
  #loaded: string;
  /** The files cannot be read as they are: those before them stay in force. */
  stale = false;
  #closed = false;

  /** Make it before the files are first read, so that no change is missed. */
  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#loaded = options.files.map(stateNow).join();
  }

  start(): void {
    void this.#follow();
  }

  close(): void {
    this.#closed = true;
  }

  async #follow(): Promise<void> {
    const { files, interval_ms } = this.#options;
    let seen = this.#loaded;
    let reported: string | undefined;
    /** Polls since the change or the last try, and how many there have to be for the next one. */
    let waited = 0;
    let wanted = 0;
    for (;;) {
      await pause(interval_ms, undefined, { ref: false });
      const now = (await Promise.all(files.map(stateOf))).join();
      if (this.#closed) return;
      const stable = now === seen;
      seen = now;
      if (now === this.#loaded) {
        this.stale = false;
        waited = 0;
        continue;
      }
      if (!stable) [wanted, reported] = [0, undefined];
      waited += 1;
      if (waited < max_polls && !(stable && waited > wanted)) continue;
      waited = 0;
      const failure = await this.#try();
      if (failure === undefined) this.#loaded = now;
      else if (failure.message !== reported && !this.#closed) this.#options.onFailure(failure);
      this.stale = failure !== undefined;
      reported = failure?.message;
      wanted = 2 * wanted + 1;
    }
  }

  async #try(): Promise<Error | undefined> {
    try {
      await this.#options.reload();
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }
}

function stateNow(file: string): string {
  try {
    return identity(statSync(file, { bigint: true }));
  } catch (error) {
    return missing(error);
  }
}

function stateOf(file: string): Promise<string> {
  return stat(file, { bigint: true }).then(identity, missing);
}

/** ctime, not mtime: it also changes with the mode and with a rename, and no tool can set it back. */
function identity({ dev, ino, size, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, ctimeNs].join(':');
}

function missing(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'missing';
}
