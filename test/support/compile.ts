import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';
import { projectPath } from '../../src/paths.ts';

/** Tests that start the program run dist/: it is compiled here when src/ has changed, so that none runs a stale one. */
export default function setup(project: TestProject): void {
  compile();
  project.onTestsRerun(async () => compile());
}

function compile(): void {
  const args = [projectPath('scripts/setup.mjs'), '--quiet', '--only', 'program'];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
}
