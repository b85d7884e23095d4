import { execFile } from 'node:child_process';
import { expect } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';

const { inherited } = await import(projectPath('test/support/programs.mjs'));

export const program = projectPath('dist/src/cli/index.js');

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end in a folder, without a terminal, with nothing in its environment but `env`. */
export function execute(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** The settings and the taste of whoever runs the tests. */
const personal = /^(FACEMATCH_|NO_COLOR$|FORCE_COLOR$|CLICOLOR)/;

/** Runs a script of Node's, without the settings of whoever runs the tests. */
export function run(
  script: string,
  args: readonly string[],
  folder: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  const others = Object.entries(process.env).filter(([name]) => !personal.test(name));
  const all = { ...Object.fromEntries(others), ...inherited, ...env };
  return execute(process.execPath, [script, ...args], folder, all);
}

/** Runs a line of facematch's commands, in which a blank parts words; or words. */
export function facematch(line: string | readonly string[], folder: string, env?: NodeJS.ProcessEnv) {
  return run(program, typeof line === 'string' ? line.split(' ') : line, folder, env);
}

/** A command that fails says why on standard error, and nothing else. */
export function expectFailure({ code, stdout, stderr }: Outcome, expected: number, message: string): void {
  expect(stderr).toContain(message);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
}
