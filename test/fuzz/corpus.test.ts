import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, sharedFolder, smallSample } from '../fixtures/pictures.ts';
import { type Build, builds, runChild } from '../native/support/child.ts';

interface Looked {
  file: string;
  /** `ok` or an error's code, for each mode. */
  outcomes: string[];
}

/** For any picture: never an internal error, which would be a 500. */
const allowedOutcomes = ['ok', 'unsupported_image_format', 'image_decode_failed', 'image_dimensions'];

/** Analyses every picture below a folder in a process of its own, and a valid one now and then; the process must survive. */
async function lookAt(build: Build, folder: string, sound: string, longest: number): Promise<Looked[]> {
  const child = await runChild(build, 'corpus.mjs', [folder, sound], { longest });
  expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
  return child.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Looked);
}

/** Real damaged, exotic and faceless pictures. Drawn ones are damaged in native/test/damage_test.cpp. */

const shared = sharedFolder();
const longest = 400_000;

test.skipIf(!shared).each(['corrupt', 'negatives'])(
  'the addon answers every file of the shared folder %s',
  async (name) => {
    const drawn = await mkdtemp(join(tmpdir(), 'facematch-corpus-'));
    const sound = join(drawn, 'sound.png');
    await writeFile(sound, await smallSample(1, 320));
    const folder = join(shared!, 'data', name);
    // Under AddressSanitizer where that is built.
    const looked = await lookAt(builds.at(-1)!, folder, sound, longest);
    expect(looked.map(({ file }) => file)).toEqual(filesBelow(folder));
    expect(
      looked.flatMap(({ outcomes }) => outcomes).filter((word) => !allowedOutcomes.includes(word)),
    ).toEqual([]);
    await rm(drawn, { recursive: true });
  },
  longest,
);
