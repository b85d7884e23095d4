import sharp from 'sharp';
import { expect, it, test } from 'vitest';
import type { Analysis } from '../../../src/engine/addon.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { analyseOptions, blank, manifest, pack, sample } from '../../fixtures/images.ts';
import { builds, runChild } from '../../native/support/child.ts';

/** The result of an image does not depend on the images that the same thread analysed before. */

const addon = loadPack(pack, manifest);

function detect(picture: Buffer): Analysis['image'] {
  const found = addon.analyse(pack, picture, analyseOptions);
  if (!found.ok) throw new Error(found.code);
  return found.image;
}

/** Every fourth face, cut so close that the first pass finds few of them, small enough that its memory is reused. */
async function closeCuts(): Promise<Buffer[]> {
  const cuts = [1, 2, 3, 4, 5, 6].map(sample).flatMap((photo) =>
    detect(photo).faces.map(({ box }) => {
      const inner = { width: Math.round(box.width * 0.7), height: Math.round(box.height * 0.7) };
      const place = {
        left: Math.round(box.x + box.width * 0.15),
        top: Math.round(box.y + box.height * 0.15),
      };
      const cut = sharp(photo).extract({ ...place, ...inner });
      return cut.resize({ width: 160 }).jpeg({ quality: 95 }).toBuffer();
    }),
  );
  return (await Promise.all(cuts)).filter((_item, i) => i % 4 === 0);
}

test('an image has the same faces after any other image', async () => {
  const cuts = await closeCuts();
  const side = 900;
  const empty = await blank(side, side, 'jpeg');
  const photo = await sharp(sample(5)).resize(side, side, { fit: 'cover' }).jpeg().toBuffer();
  const after = (before: Buffer) =>
    cuts.map((cut) => {
      // Twice: a thread reuses the memory of two images.
      detect(before);
      detect(before);
      return detect(cut);
    });
  const afterBlank = after(empty);
  expect(after(photo)).toStrictEqual(afterBlank);
  // The padded step must have run, or nothing would have been tested.
  expect(JSON.stringify(afterBlank)).toContain('"padded"');
});

const longest = 240_000;

it(
  'holds no more memory after 300 mixed images than after 100',
  async () => {
    const options = { flags: ['--expose-gc'], longest };
    const child = await runChild(builds[0]!, 'memory.mjs', ['100', '300'], options);
    expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
    const [early, late] = child.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { rss: number }).rss);
    expect(late! / early!).toBeLessThan(1.03);
  },
  longest,
);
