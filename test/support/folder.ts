import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder, which goes away with the run. */
export const newFolder = () => mkdtempSync(join(tmpdir(), 'facematch-test-'));

/** The path of a named pipe that nobody has opened. */
export function namedPipe(folder = newFolder()): string {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  return pipe;
}

/** For vitest: whatever tests leave behind goes away with the run. */
export default function setup(): () => void {
  // Called once for each project of the run.
  if (process.env.FACEMATCH_TESTS_FOLDER) return () => {};
  // A short path: Chromium makes a socket below it.
  const folder = mkdtempSync(join(tmpdir(), 'fm-'));
  process.env.FACEMATCH_TESTS_FOLDER = folder;
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
