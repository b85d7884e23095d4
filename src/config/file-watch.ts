import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

interface FollowerOptions {
  file: string;
  interval_ms: number;
  /** Reads the file as it is now; throws when it cannot. */
  reload(): void;
  /** The file could not be read. Called once for each change of it and reason; it is tried again in any case. */
  onFailure(error: Error): void;
}

export interface FollowerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Most polls until a change is tried, or tried again, whatever the file does meanwhile. */
const max_polls = 20;

/**
 * Follows a file by polling, because file events are missing on network mounts and for replaced links and folders. A change is read when it
 * is stable for two polls, so that a writer has finished, and again, at growing intervals, until that works. Does not keep the process
 * alive.
 */
export class FileFollower {
  readonly #options: FollowerOptions;
  /** State of the file that was read last. */
  #loaded: string;
  /** The file cannot be read as it is: the one before stays in force. */
  stale = false;
  #closed = false;

  /** Make it before the file is first read, so that no change is missed. */
  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#loaded = stateNow(options.file);
  }

  start(): void {
    void this.#follow();
  }

  close(): void {
    this.#closed = true;
  }

  async #follow(): Promise<void> {
    const { file, interval_ms } = this.#options;
    let seen = this.#loaded;
    let reported: string | undefined;
    /** Polls since the change or the last try, and how many there have to be for the next one. */
    let waited = 0;
    let wanted = 0;
    for (;;) {
      await pause(interval_ms, undefined, { ref: false });
      const now = await stateOf(file);
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
      const failure = this.#try();
      if (failure === undefined) this.#loaded = now;
      else if (failure.message !== reported && !this.#closed) this.#options.onFailure(failure);
      this.stale = failure !== undefined;
      reported = failure?.message;
      wanted = 2 * wanted + 1;
    }
  }

  #try(): Error | undefined {
    try {
      this.#options.reload();
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
