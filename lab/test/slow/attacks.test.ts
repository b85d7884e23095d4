import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { blank } from '../../../test/fixtures/images.ts';
import { livePack, redAndBlue, redIsLive } from '../../../test/fixtures/packs.ts';
import { expectFailure, facematchInHost } from '../../../test/server/support/cli.ts';
import { newFolder } from '../../../test/support/folder.ts';

/** Tests `facematch eval --attacks` with a model that classifies images with more red than blue as live. */

const folder = newFolder();
const pack = livePack(folder, [{ net: redIsLive, scale: 2.7 }]);
const [red, blue] = await redAndBlue();
const empty = await blank(300, 300, 'png');

const files = {
  'set/live/a.png': red,
  'set/live/b/c.png': red,
  'set/live/b/d.png': blue,
  'set/live/none.png': empty,
  'set/attack/print/a.png': blue,
  'set/attack/print/none.png': empty,
  'set/attack/print/broken.png': 'no image',
  'set/attack/replay/phone/a.png': red,
  'set/attack/replay/b.png': blue,
  'set/attack/by-itself.png': blue,
  'only/live/a.png': red,
  'faceless/attack/card/none.png': empty,
  'faceless/attack/print/a.png': blue,
  'nothing/elsewhere/a.png': red,
};
for (const [path, bytes] of Object.entries(files)) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), bytes);
}

const evaluate = (line: string, FACEMATCH_PACK = pack) =>
  facematchInHost(`eval --mode fast ${line}`, folder, { FACEMATCH_PACK });

describe('facematch eval --attacks', () => {
  test("prints both error rates in the standard's terms, the worst type first, and counts images without a face separately", async () => {
    const { code, stdout, stderr } = await evaluate('--attacks set');
    // The code is 1 because one image cannot be read.
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(
        /^pack live \S+, live at a live_score of 0\.5 or more; 95 % intervals by person or instrument$/,
      ),
      'APCER  50.00 %, the highest of all attack types',
      'APCER  replay  50.00 % [7.60, 92.40]: 1 of 2 classified as live',
      'APCER  attack  0.00 % [0.00, 79.35]: 0 of 1 classified as live',
      'APCER  print   0.00 % [0.00, 79.35]: 0 of 1 classified as live',
      'BPCER  live    33.33 % [4.66, 83.64]: 1 of 3 classified as attacks, of 2 people',
      'ACER   41.67 %, the mean of APCER and BPCER',
      'APNRR  replay  0.00 %: 0 of 2 without a face',
      'APNRR  attack  0.00 %: 0 of 1 without a face',
      'APNRR  print   50.00 %: 1 of 2 without a face',
      'BPNRR  live    25.00 %: 1 of 4 without a face',
      'could not be read  1: attack/print/broken.png (unsupported_image_format)',
      '',
    ]);
  });

  test('prints no APCER without attacks', async () => {
    const { stdout } = await evaluate('--attacks only');
    const json = JSON.parse((await evaluate('--attacks only --json')).stdout);
    expect(json).toMatchObject({ pack: { name: 'live' }, attacks: [], live: { images: 1, error_rate: 0 } });
    expect(stdout).toContain('APCER  no attacks were given\nBPCER  live  0.00 % [0.00, 79.35]: 0 of 1 ');
    expect(stdout).toContain('ACER   –, the mean of APCER and BPCER');
  });

  test('leaves an attack type without a face out of the highest rate', async () => {
    const { stdout } = await evaluate('--attacks faceless');
    expect(stdout).toContain('APCER  0.00 %, the highest of all attack types\nAPCER  print  0.00 % ');
  });

  test.each<[line: string, code: number, message: string, its?: string]>([
    ['--attacks set --held-out-cohort', 2, '--attacks allows only --mode and --json'],
    ['pairs.tsv --attacks set', 2, '--attacks allows only --mode and --json'],
    ['--attacks nothing', 1, 'nothing must contain images in the folders live and attack'],
    ['--attacks set', 1, 'The pack default has no liveness model', 'default'],
  ])('rejects %s with exit code %i', async (line, code, message, its) => {
    expectFailure(await evaluate(line, its), code, message);
  });
});
