import { type FSWatcher, stat, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface FileWatchOptions {
  /** How often the file is looked at in any case. */
  poll_ms: number;
  /** How long a burst of events is left to end before the file is looked at. */
  settle_ms: number;
}

/**
 * Calls back when a file has changed. The folder is watched, not the file: a rename into place gives the name to a new
 * file, and a watch on the old one would never speak again. Some mounts (network, overlay, a folder that is itself
 * replaced) report nothing, so the file is also looked at now and then. Neither keeps the process alive.
 */
export class FileWatch {
  readonly #file: string;
  readonly #changed: () => void;
  readonly #options: FileWatchOptions;
  readonly #poll: NodeJS.Timeout;
  readonly #watcher: FSWatcher | undefined;
  #settling: NodeJS.Timeout | undefined;
  #seen: string;
  #closed = false;

  constructor(file: string, options: FileWatchOptions, changed: () => void) {
    this.#file = file;
    this.#options = options;
    this.#changed = changed;
    this.#watcher = this.#watchFolder();
    this.#seen = identity(statSync(file, { bigint: true, throwIfNoEntry: false }));
    this.#poll = setInterval(() => this.#look(), options.poll_ms).unref();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#settling);
    this.#watcher?.close();
  }

  #watchFolder(): FSWatcher | undefined {
    try {
      const watcher = watch(dirname(this.#file), { persistent: false }, (_event, name) => {
        if (concerns(name, basename(this.#file))) this.#settle();
      });
      // The folder went away, or the system ran out of watches: the poll goes on.
      watcher.on('error', () => watcher.close());
      return watcher;
    } catch {
      return undefined;
    }
  }

  #settle(): void {
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined;
      this.#look();
    }, this.#options.settle_ms).unref();
  }

  #look(): void {
    stat(this.#file, { bigint: true }, (error, stats) => {
      if (this.#closed) return;
      const now = identity(error === null ? stats : undefined);
      if (now === this.#seen) return;
      this.#seen = now;
      this.#changed();
    });
  }
}

/** Kubernetes swaps the link `..data` beside the file; some systems give no name at all. */
function concerns(name: string | null, file: string): boolean {
  return name === null || name === file || name === '..data';
}

/** ctime, not mtime: it also moves with the mode and with a rename, and no tool can set it back. */
function identity(stats: { dev: bigint; ino: bigint; size: bigint; ctimeNs: bigint } | undefined): string {
  return stats === undefined ? 'missing' : [stats.dev, stats.ino, stats.size, stats.ctimeNs].join(':');
}
