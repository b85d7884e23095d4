import { expect } from 'vitest';
import type { Build } from './builds.ts';
import { runChild } from './child.ts';

export interface Looked {
  file: string;
  /** `ok` or an error's code, for each mode. */
  outcomes: string[];
}

/** For any picture: never an internal error, which would be a 500. */
export const allowedOutcomes = ['ok', 'unsupported_image_format', 'image_decode_failed', 'image_dimensions'];

/** Analyses every picture below a folder in a process of its own, and a valid one now and then; the process must survive. */
export async function lookAt(
  build: Build,
  folder: string,
  sound: string,
  longest: number,
): Promise<Looked[]> {
  const child = await runChild(build, 'corpus.mjs', [folder, sound], { longest });
  expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
  return child.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Looked);
}
