import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';
import { projectPath } from '../../src/config/paths.ts';

/** Tests that start the program run dist/: it is compiled here when src/ has changed, so that none runs a stale one. */
export default function setup(project: TestProject): void {
  project.onTestsRerun(async () => compile());
  // Called once for each project of the run.
  if (process.env.FACEMATCH_TESTS_COMPILED) return;
  process.env.FACEMATCH_TESTS_COMPILED = '1';
  compile();
}

function compile(): void {
  const args = [projectPath('scripts/setup.mjs'), '--quiet', '--only', 'program'];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
}
