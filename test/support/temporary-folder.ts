import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whatever tests leave behind goes away with the run. */
export default function setup(): () => void {
  // Called once for each project of the run.
  if (process.env.FACEMATCH_TESTS_FOLDER) return () => {};
  // A short path: Chromium makes a socket below it.
  const folder = mkdtempSync(join(tmpdir(), 'fm-'));
  process.env.FACEMATCH_TESTS_FOLDER = folder;
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
