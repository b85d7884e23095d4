import { execFile, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { projectPath } from '../../../src/paths.ts';

/** The programs of docs/clients, as their readers run them. */

export const example = (name: string) => projectPath(`docs/clients/${name}`);

/** What runs each, and the program that it cannot do without. */
export const clients: [name: string, command: readonly string[], needs: string][] = [
  ['match.sh', [example('match.sh')], 'curl'],
  ['match-fetch.mjs', [process.execPath, example('match-fetch.mjs')], process.execPath],
  ['match-undici.mjs', [process.execPath, example('match-undici.mjs')], process.execPath],
];

const photo = (name: string) => projectPath(`node_modules/@vladmandic/face-api/demo/${name}.jpg`);
/** One woman is in the first and the third; all others are different people. */
export const photos = { one: photo('sample1'), two: photo('sample2'), three: photo('sample3') } as const;

/** Programs that this machine lacks. */
export const missing = new Set(
  [...clients.map(([, , needs]) => needs), 'python3'].filter(
    (needs) => spawnSync(needs, ['--version']).error !== undefined,
  ),
);
for (const needs of missing) process.stderr.write(`A client is not run: ${needs} is not installed\n`);

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Run {
  url: string;
  key: string;
  args?: readonly string[];
}

/** Runs one to its end, with the photos of a match unless told otherwise. */
export function runClient(
  [command, ...before]: readonly string[],
  { url, key, args }: Run,
): Promise<Outcome> {
  const env = { PATH: process.env.PATH, FACEMATCH_URL: url, FACEMATCH_KEY: key };
  return new Promise((resolve) => {
    execFile(
      command!,
      [...before, ...(args ?? [photos.one, photos.three])],
      { env, cwd: tmpdir() },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}
