// One set-up in a folder at a time: a second would tread on it, so it waits. The lock is a link that points to the
// name of its owner: unlike a file it has its content from the first moment on.
import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';

const check_ms = 300;

/** When a process of Linux began, in ticks since the system did; '' elsewhere, and when there is none. Numbers of processes are used again. */
function beginOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold blanks and brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return '';
  }
}

function isRunning(owner) {
  const [pid, begin] = owner.split(' ');
  if (!pid) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    // EPERM: it runs, for another user.
    if (error.code !== 'EPERM') return false;
  }
  return beginOf(pid) === begin;
}

/** Undefined when there is no lock, '' for what is none. */
function ownerOf(lock) {
  try {
    return readlinkSync(lock);
  } catch (error) {
    return error.code === 'ENOENT' ? undefined : '';
  }
}

/** Removes the lock of a process that has ended, and of nobody else: another one may just have done so and taken it. */
function removeStale(lock, owner) {
  const aside = `${lock}-${process.pid}`;
  try {
    renameSync(lock, aside);
    const taken = ownerOf(aside);
    if (taken !== owner) symlinkSync(taken, lock);
  } catch {
    // Somebody was quicker.
  }
  rmSync(aside, { force: true });
}

/** Resolves when this process has the lock, which it keeps until it ends. `onWait` is told once who has it. */
export async function takeLock(lock, onWait) {
  for (let told = false; ; ) {
    try {
      symlinkSync(`${process.pid} ${beginOf(process.pid)}`, lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = ownerOf(lock);
    if (owner === undefined) continue;
    if (isRunning(owner)) {
      if (!told) onWait(owner.split(' ')[0]);
      told = true;
      await new Promise((resolve) => setTimeout(resolve, check_ms));
    } else removeStale(lock, owner);
  }
  process.on('exit', () => rmSync(lock, { force: true }));
}
