// One set-up in a folder at a time: a second would tread on it, so it waits.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Resolves when this process has the lock, which it keeps until it ends, however it ends. `onWait` is told when another one has it.
 * Nothing is locked where util-linux's flock is missing.
 */
export async function takeLock(lock, onWait) {
  for (const how of [['--nonblock'], []]) {
    // It ends with its standard input, and that with this process.
    const holder = spawn('flock', [...how, lock, 'sh', '-c', 'echo && exec cat >&2'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const answers = [once(holder.stdout, 'data').then(() => true), once(holder, 'exit').then(() => false)];
    const isHeld = await Promise.race(answers).catch(({ code }) => code === 'ENOENT');
    for (const one of [holder, holder.stdin, holder.stdout]) one.unref();
    if (isHeld) return;
    if (how.length > 0) onWait();
  }
}
