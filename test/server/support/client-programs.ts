import { spawnSync } from 'node:child_process';
import { projectPath } from '../../../src/config/paths.ts';

/** The programs of docs/clients, and photos for them. */

export const example = (name: string) => projectPath(`docs/clients/${name}`);

const photo = (name: string) => projectPath(`node_modules/@vladmandic/face-api/demo/${name}.jpg`);
/** One woman is in the first and the third; all others are different people. */
export const photos = { one: photo('sample1'), two: photo('sample2'), three: photo('sample3') } as const;

/** Says so where there is none. */
export function isInstalled(program: string): boolean {
  if (spawnSync(program, ['--version']).error === undefined) return true;
  process.stderr.write(`A client is not run: ${program} is not installed\n`);
  return false;
}
