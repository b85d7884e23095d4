import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder, which goes away with the run (temporary-folder.ts). */
export const newFolder = () => mkdtempSync(join(tmpdir(), 'facematch-test-'));

/** The path of a named pipe that nobody has opened. */
export function namedPipe(folder = newFolder()): string {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  return pipe;
}
