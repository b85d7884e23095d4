import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Polls the files and calls back once a change is stable for two polls, so that a writer has finished. Polling, because file
 * events are missing on network mounts and for replaced links and folders; fs.watchFile misses changes before its first poll.
 * Does not keep the process alive. Returns a function that stops it.
 */
export function watchFiles(files: readonly string[], interval_ms: number, changed: () => void): () => void {
  let closed = false;
  // Synchronous, so that a caller who reads the files next misses no change.
  let seen = files.map(stateNow).join();
  const follow = async () => {
    let reported = seen;
    while (!closed) {
      await pause(interval_ms, undefined, { ref: false });
      const now = (await Promise.all(files.map(stateOf))).join();
      if (!closed && now === seen && now !== reported) {
        reported = now;
        changed();
      }
      seen = now;
    }
  };
  void follow();
  return () => {
    closed = true;
  };
}

function stateNow(file: string): string {
  try {
    return identity(statSync(file, { bigint: true }));
  } catch {
    return 'missing';
  }
}

async function stateOf(file: string): Promise<string> {
  const stats = await stat(file, { bigint: true }).catch(() => undefined);
  return stats === undefined ? 'missing' : identity(stats);
}

/** ctime, not mtime: it also changes with the mode and with a rename, and no tool can set it back. */
function identity({ dev, ino, size, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, ctimeNs].join(':');
}
