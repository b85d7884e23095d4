import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { facematch, facematchInHost } from '../../../test/server/support/cli.ts';
import { newFolder } from '../../../test/support/folder.ts';
import { surfaces } from '../../../test/support/surface.mjs';
import { posesOf, turnedFrames } from '../../../test/support/turned-head.mjs';

/** Tests `facematch eval-liveness` on generated sequences. */

const set = newFolder();
const asked = ['left', 'up'];
const rows = ['folder\tkind\tperson\tmotion\tsteps'];

async function add(
  folder: string,
  kind: string,
  motion: string,
  surface: (typeof surfaces)['flat'],
): Promise<void> {
  const frames: Buffer[] = await turnedFrames(posesOf(asked), { surface: surface() });
  mkdirSync(join(set, folder));
  for (const [i, frame] of frames.entries()) writeFileSync(join(set, folder, `${10 + i}.jpg`), frame);
  rows.push([folder, kind, 'e', motion, asked.join(',')].join('\t'));
}
await add('head', 'live', 'model', surfaces.head);
await add('paper', 'print', 'flat', surfaces.flat);
writeFileSync(join(set, 'sequences.tsv'), rows.join('\n'));

test('judges live sequences by their own challenge, and print attacks by all challenges', async () => {
  const { code, stdout, stderr } = await facematch(['eval-liveness', set, '--json'], set);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { bpcer, species, faceless } = JSON.parse(stdout);
  expect(bpcer).toMatchObject({ sequences: 1, errors: 0, people: 1 });
  expect(species).toMatchObject([{ species: 'print, flat', apcer: { sequences: 1, errors: 0 } }]);
  expect(species[0].reasons.step_missing).toBe(1);
  expect(faceless).toEqual([]);
});

test('rejects a set with a missing folder', async () => {
  const other = newFolder();
  writeFileSync(join(other, 'sequences.tsv'), 'folder\tkind\tperson\nnone\tlive\ta\n');
  const { code, stderr } = await facematchInHost(['eval-liveness', other], other);
  expect(code).not.toBe(0);
  expect(stderr).toContain('the folder none does not exist');
});
