import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { projectPath } from '../../src/config/paths.ts';

/** Creates a folder that is removed after the test run. */
export const newFolder = () => mkdtempSync(join(tmpdir(), 'facematch-test-'));

/** Creates a named pipe that no process has opened, and returns its path. */
export function namedPipe(folder = newFolder()): string {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  return pipe;
}

/**
 * Vitest calls this function for each project of the run, and for the run itself, which has no name. The returned
 * function removes everything that tests leave behind.
 */
export default function setup(project: TestProject): () => void {
  if (!['', 'unit'].includes(project.name)) prepareProgram(project);
  if (process.env.FACEMATCH_TESTS_FOLDER) return () => {};
  // The path must be short, because Chromium creates a socket below it.
  const folder = mkdtempSync(join(tmpdir(), 'fm-'));
  process.env.FACEMATCH_TESTS_FOLDER = folder;
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/**
 * Compiles dist/ for tests that run the program, if src/ has changed.
 */
function prepareProgram(project: TestProject): void {
  const args = [projectPath('scripts/setup.mjs'), '--quiet', '--only', 'program'];
  const compile = () => execFileSync(process.execPath, args, { stdio: 'inherit' });
  project.onTestsRerun(async () => void compile());
  if (!process.env.FACEMATCH_TESTS_COMPILED) compile();
  process.env.FACEMATCH_TESTS_COMPILED = '1';
}
