import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, sharedFolder, smallSample } from '../fixtures/pictures.ts';
import { builds } from '../native/support/builds.ts';
import { allowedOutcomes, lookAt } from '../native/support/corpus.ts';

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
