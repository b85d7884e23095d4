import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, mkdirSync, openSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { newFolder } from '../../support/folder.ts';

const { inherited, launch } = await import(projectPath('test/support/programs.mjs'));

export const program = projectPath('dist/src/cli/index.js');

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command in a folder until it exits, without a terminal, with only `env` as its environment. */
export function execute(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  return new Promise<Outcome>((resolve) => {
    execFile(command, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Variables with settings and preferences of the developer. */
const personal = /^(FACEMATCH_|NO_COLOR$|FORCE_COLOR$|CLICOLOR)/;

/** Returns the environment of a command, without the developer's settings. */
function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !personal.test(name));
  return { ...Object.fromEntries(others), ...inherited, ...env };
}

/** Runs a Node script without the settings of the developer's environment. */
export function run(script: string, args: readonly string[], folder: string, env: NodeJS.ProcessEnv = {}) {
  return execute(process.execPath, [script, ...args], folder, environment(env));
}

type Line = string | readonly string[];
const wordsOf = (line: Line) => (typeof line === 'string' ? line.split(' ') : line);

/** Runs a facematch command line, split at spaces; or a list of arguments. */
export function facematch(line: Line, folder: string, env?: NodeJS.ProcessEnv): Promise<Outcome> {
  return run(program, wordsOf(line), folder, env);
}

/**
 * Runs a command line like facematch(), but in a process that runs one line after another. This saves half a
 * second of CPU time for loading the program, and another half second for loading a model pack. Do not use it for
 * a pack whose files change, because a process loads a pack once.
 */
export function facematchInHost(line: Line, folder: string, env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const outcome = previous.then(() => hostRun({ args: wordsOf(line), folder, env: environment(env) }));
  previous = outcome.catch(() => {});
  return outcome;
}

let previous: Promise<unknown> = Promise.resolve();
let host: Promise<Host> | undefined;

interface Host {
  child: ChildProcess;
  ended: Promise<unknown>;
  output(): Omit<Outcome, 'code'>;
}

/**
 * Starts the process. Its output goes to files, so that the whole output of a command line can be read when the
 * process reports the exit code.
 */
async function startHost(): Promise<Host> {
  const folder = newFolder();
  const files = ['stdout', 'stderr'].map((name) => join(folder, name));
  const outputs = files.map((file) => openSync(file, 'a'));
  const script = fileURLToPath(new URL('./cli-host.mjs', import.meta.url));
  const options = { stdio: ['ignore', ...outputs, 'ipc'], env: environment({}) };
  const { child, ended } = launch(process.execPath, [script], options);
  for (const output of outputs) closeSync(output);
  const lengths = [0, 0];
  const output = () => {
    const [stdout, stderr] = files.map((file, i) => {
      const bytes = readFileSync(file).subarray(lengths[i]);
      lengths[i]! += bytes.length;
      return bytes.toString();
    }) as [string, string];
    return { stdout, stderr };
  };
  await Promise.race([once(child, 'message'), ended]);
  return { child, ended, output };
}

async function hostRun(line: object): Promise<Outcome> {
  host ??= startHost();
  const { child, ended, output } = await host;
  const exited = once(child, 'message').then(([code]) => code as number);
  child.send(line);
  const code = await Promise.race([exited, ended.then(() => undefined)]);
  if (code === undefined) {
    host = undefined;
    throw new Error(`The process ended while it ran a command line: ${output().stderr}`);
  }
  return { code, ...output() };
}

/** Checks the exit code, that standard error contains the message, and that standard output is empty. */
export function expectFailure({ code, stdout, stderr }: Outcome, expected: number, message: string): void {
  expect(stderr).toContain(message);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
}

export interface Diagnosis extends Outcome {
  ok: boolean;
  findings: Finding[];
  of(what: string): Finding;
}

/** Keeps the doctor from checking the default ports. */
const anyPort = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0' };

/** Returns the doctor's findings in a folder, from its JSON output. */
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
      throw new Error(`Expected one line for ${what}: ${outcome.stdout}`);
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
