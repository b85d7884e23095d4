// Starts a program that is said to be ready by a line of its output or by an answer, and ends with this process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Rejects with what it said when it ends before `ready` resolves, or is not installed. */
export async function startProgram(command, args, { ready, cure }) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      said = (said + text).slice(-4000);
    });
  }
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', () => resolve('it ended'));
  }).finally(() => process.off('exit', onExit));
  const early = ended.then((reason) => {
    throw new Error(`${command}: ${reason}\n${said}\n${cure}`);
  });
  early.catch(() => {});
  await Promise.race([ready(), early]);
  return child;
}

/** Resolves when it is gone. */
export async function endProgram(child, signal) {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'close');
  child.kill(signal);
  await gone;
}

/** Asks `question` until it answers true. */
export async function until(question) {
  while (!(await question())) await new Promise((resolve) => setTimeout(resolve, 10));
}
