import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Calls back when one of the files has changed, has gone or has come back, as soon as two looks in a row find the same:
 * whoever writes two files, or one in pieces, is done by then. It looks at what the paths lead to, since events of the
 * system do not come from network mounts, nor for links and folders that are replaced; fs.watchFile misses what happens
 * before its first look. It does not keep the process alive. Returns how to end it.
 */
export function watchFiles(files: readonly string[], interval_ms: number, changed: () => void): () => void {
  let closed = false;
  // At once, so that whoever reads the files next misses no change.
  let seen = files.map(stateNow).join();
  const follow = async () => {
    let told = seen;
    while (!closed) {
      await pause(interval_ms, undefined, { ref: false });
      const now = (await Promise.all(files.map(stateOf))).join();
      if (!closed && now === seen && now !== told) {
        told = now;
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

/** ctime, not mtime: it also moves with the mode and with a rename, and no tool can set it back. */
function identity({ dev, ino, size, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, ctimeNs].join(':');
}
