import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { projectPath } from '../../../src/paths.ts';

export const program = projectPath('dist/src/cli/index.js');
export const built = existsSync(program);
if (!built)
  process.stderr.write('The command line is not tested: it has not been built; run npm run setup\n');

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** The settings and the taste of whoever runs the tests. */
const personal = /^(FACEMATCH_|NO_COLOR$|FORCE_COLOR$|CLICOLOR)/;

/** Runs a script to its end in a folder, without a terminal, without the settings of whoever runs the tests. */
export function run(
  script: string,
  args: readonly string[],
  folder: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  const inherited = Object.entries(process.env).filter(([name]) => !personal.test(name));
  const options = { cwd: folder, env: { ...Object.fromEntries(inherited), ...env } };
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
