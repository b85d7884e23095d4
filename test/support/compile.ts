import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { projectPath } from '../../src/config/paths.ts';

/** Tests that start the program run dist/: it is compiled here when src/ has changed, so that none runs a stale one. */
export default function setup(project: TestProject): () => void {
  project.onTestsRerun(async () => compile());
  // Called once for each project of the run.
  if (process.env.FACEMATCH_TESTS_FOLDER) return () => {};
  compile();
  // Whatever tests leave behind goes away with the run. A short path: Chromium makes a socket below it.
  const folder = mkdtempSync(join(tmpdir(), 'fm-'));
  process.env.FACEMATCH_TESTS_FOLDER = folder;
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function compile(): void {
  const args = [projectPath('scripts/setup.mjs'), '--quiet', '--only', 'program'];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
}
