import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { projectPath } from '../../../src/config/paths.ts';

const { inherited } = await import(projectPath('test/support/programs.mjs'));

export const program = projectPath('dist/src/cli/index.js');

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end in a folder, without a terminal, with only `env` in its environment. */
export function execute(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  return new Promise<Outcome>((resolve) => {
    execFile(command, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Removes settings and preferences of the developer's environment. */
const personal = /^(FACEMATCH_|NO_COLOR$|FORCE_COLOR$|CLICOLOR)/;

/** Runs a Node script without the settings of the developer's environment. */
export function run(script: string, args: readonly string[], folder: string, env: NodeJS.ProcessEnv = {}) {
  const others = Object.entries(process.env).filter(([name]) => !personal.test(name));
  const all = { ...Object.fromEntries(others), ...inherited, ...env };
  return execute(process.execPath, [script, ...args], folder, all);
}

/** Runs a facematch command line, split at spaces; or a list of arguments. */
export function facematch(line: string | readonly string[], folder: string, env?: NodeJS.ProcessEnv) {
  return run(program, typeof line === 'string' ? line.split(' ') : line, folder, env);
}

/** A failing command must write the reason to standard error, and nothing else. */
export function expectFailure({ code, stdout, stderr }: Outcome, expected: number, message: string): void {
  expect(stderr).toContain(message);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
}

export interface Diagnosis extends Outcome {
  ok: boolean;
  findings: Finding[];
  of(what: string): Finding;
}

/** Checks of the machine's ports are omitted unless `env` sets some. */
const anyPort = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0' };

/** Returns the doctor's findings in a folder in the form that a script reads. */
export async function diagnose(
  folder: string,
  env: NodeJS.ProcessEnv = {},
  { script = program, args = [] }: { script?: string; args?: readonly string[] } = {},
): Promise<Diagnosis> {
  const outcome = await run(script, ['doctor', '--json', ...args], folder, { ...anyPort, ...env });
  const { ok, findings } = JSON.parse(outcome.stdout) as Pick<Diagnosis, 'ok' | 'findings'>;
  const of = (what: string) => {
    const [found, ...more] = findings.filter((finding) => finding.what === what);
    if (found === undefined || more.length > 0)
      throw new Error(`Not one line for ${what}: ${outcome.stdout}`);
    return found;
  };
  return { ...outcome, ok, findings, of };
}

/** Copies the program to a folder without some packages; returns its bin. The addon is not copied. */
export function copyProgram(folder: string, without: readonly string[]): string {
  for (const part of ['dist', 'scripts', 'package.json', 'CMakeLists.txt', 'models/packs/default']) {
    cpSync(projectPath(part), join(folder, part), { recursive: true });
  }
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(projectPath('node_modules')))
    if (!name.startsWith('.') && !without.includes(name))
      symlinkSync(projectPath(`node_modules/${name}`), join(folder, 'node_modules', name));
  cpSync(projectPath('build/uws'), join(folder, 'build/uws'), { recursive: true });
  return join(folder, 'scripts/facematch.mjs');
}
