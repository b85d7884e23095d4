import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

interface FollowerOptions {
  files: readonly string[];
  /** How often they are polled. */
  interval_ms: number;
  /** Takes the files over as they are now; throws or rejects when it cannot. Never called twice at once. */
  takeOver(): void | Promise<void>;
  /** The files were not taken over. Called once for each change of them and reason; they are tried again in any case. */
  onRefused(error: Error): void;
}

/** Most polls until a change is tried, or tried again, whatever the files do meanwhile. */
const most_polls = 20;

/**
 * Follows files and takes each change over. A change is tried when it is stable for two polls, so that a writer has finished, and
 * again, at growing intervals, until it is taken over: a lack of descriptors or a half-written file must not lose it. Polling,
 * because file events are missing on network mounts and for replaced links and folders; fs.watchFile misses changes before its first
 * poll. Does not keep the process alive.
 */
export class FileFollower {
  readonly #options: FollowerOptions;
  /** State of the files that were taken over last. */
  #taken: string;
  #stale = false;
  #closed = false;

  /** Call it before the files are first read, so that no change is missed. */
  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#taken = options.files.map(stateNow).join();
    void this.#follow();
  }

  /** The files could not be taken over as they are: those before them stay in force. */
  get stale(): boolean {
    return this.#stale;
  }

  close(): void {
    this.#closed = true;
  }

  async #follow(): Promise<void> {
    const { files, interval_ms } = this.#options;
    let seen = this.#taken;
    let told: string | undefined;
    /** Polls since the change or the last try, and how many there have to be for the next one. */
    let waited = 0;
    let wanted = 0;
    for (;;) {
      await pause(interval_ms, undefined, { ref: false });
      const now = (await Promise.all(files.map(stateOf))).join();
      if (this.#closed) return;
      const stable = now === seen;
      seen = now;
      if (now === this.#taken) {
        this.#stale = false;
        waited = 0;
        continue;
      }
      if (!stable) [wanted, told] = [0, undefined];
      waited += 1;
      if (waited < most_polls && !(stable && waited > wanted)) continue;
      waited = 0;
      const refusal = await this.#try();
      if (refusal === undefined) this.#taken = now;
      else if (refusal.message !== told && !this.#closed) this.#options.onRefused(refusal);
      this.#stale = refusal !== undefined;
      told = refusal?.message;
      wanted = 2 * wanted + 1;
    }
  }

  async #try(): Promise<Error | undefined> {
    try {
      await this.#options.takeOver();
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
