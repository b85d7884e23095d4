import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { UnusableFile } from '../config/file.ts';

interface FollowOptions {
  file: string;
  /** State of the file whose content is in use. */
  loaded: Stats;
  interval_ms: number;
  /** Reads the file, replaces the content in use, and returns the file's state. Throws if the file cannot be used. */
  reload(): Stats | Promise<Stats>;
  /** Called once for each change of the file and each reason why it cannot be used. */
  onFailure(reason: string): void;
}

/** A file that keeps changing, or could not be read, is read again after at most this number of polls. */
const max_polls = 20;

/** Reloads a file after each change. Does not keep the process alive. */
export class FileFollower {
  readonly #options: FollowOptions;
  /** True if the changed file could not be loaded. */
  stale = false;
  #closed = false;

  constructor(options: FollowOptions) {
    this.#options = options;
    void this.#follow();
  }

  close(): void {
    this.#closed = true;
  }

  /**
   * Polls the file, because network mounts and replaced links send no file events. Reads a changed file when two
   * polls in a row see the same state, because its writer has then finished, or after `max_polls` polls. If reading
   * fails, retries at growing intervals.
   */
  async #follow(): Promise<void> {
    const { file, interval_ms, onFailure } = this.#options;
    let loaded = identity(this.#options.loaded);
    let seen = loaded;
    let reported: string | undefined;
    /** Polls since the change or the last attempt; the next attempt needs more than `wanted`. */
    let waited = 0;
    let wanted = 0;
    for (;;) {
      await pause(interval_ms, undefined, { ref: false });
      const now = await stat(file).then(identity, ({ code = 'missing' }) => code);
      if (this.#closed) return;
      const stable = now === seen;
      seen = now;
      if (now === loaded) {
        this.stale = false;
        waited = 0;
        continue;
      }
      if (!stable) [wanted, reported] = [0, undefined];
      waited += 1;
      if (waited < max_polls && !(stable && waited > wanted)) continue;
      waited = 0;
      wanted = 2 * wanted + 1;
      const result = await this.#reload();
      if (this.#closed) return;
      const reason = typeof result === 'string' ? result : undefined;
      if (typeof result !== 'string') loaded = identity(result);
      this.stale = reason !== undefined;
      if (reason !== undefined && reason !== reported) onFailure(reason);
      reported = reason;
    }
  }

  /** Returns the state of the file, or the reason why it cannot be used. */
  async #reload(): Promise<Stats | string> {
    try {
      return await this.#options.reload();
    } catch (error) {
      return error instanceof UnusableFile ? error.reason : 'cannot be read';
    }
  }
}

/** Uses ctime, because mtime can be set back by tools and does not change with the mode or on a rename. */
const identity = ({ dev, ino, size, ctimeMs }: Stats) => [dev, ino, size, ctimeMs].join(':');
