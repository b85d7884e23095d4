import sharp from 'sharp';
import { expect, it, test } from 'vitest';
import { loadPack } from '../../src/engine/load-addon.ts';
import { analyseOptions, manifest, pack, sample } from '../fixtures/pictures.ts';
import { builds, runChild } from './support/child.ts';

/** The result of a picture does not depend on the pictures that the same thread analysed before. */

const addon = loadPack(pack, manifest);

const detect = (picture: Buffer) => {
  const { timings_ms: _, ...result } = addon.analyse(pack, picture, analyseOptions) as {
    timings_ms: unknown;
  };
  return result;
};

/** Every other face, cut so close that the first pass finds few of them, small enough that its memory is reused. */
async function closeCuts(): Promise<Buffer[]> {
  const upright = [1, 2, 3, 4, 5, 6].map(sample);
  const cuts = upright.map(async (photo) => {
    const { image } = addon.analyse(pack, photo, analyseOptions) as {
      image: { faces: { box: { x: number; y: number; width: number; height: number } }[] };
    };
    const ofFaces = image.faces.map(({ box }) => {
      const inner = { width: Math.round(box.width * 0.7), height: Math.round(box.height * 0.7) };
      const place = {
        left: Math.round(box.x + box.width * 0.15),
        top: Math.round(box.y + box.height * 0.15),
      };
      return sharp(photo)
        .extract({ ...place, ...inner })
        .resize({ width: 160 })
        .jpeg({ quality: 95 })
        .toBuffer();
    });
    return Promise.all(ofFaces);
  });
  return (await Promise.all(cuts)).flat().filter((_, i) => i % 2 === 0);
}

test('a picture has the same faces after any other picture', async () => {
  const cuts = await closeCuts();
  const side = 900;
  const white = await sharp({ create: { width: side, height: side, channels: 3, background: '#fff' } })
    .jpeg()
    .toBuffer();
  const photo = await sharp(sample(5)).resize(side, side, { fit: 'cover' }).jpeg().toBuffer();
  const after = (before: Buffer) =>
    cuts.map((cut) => {
      // Twice: a thread reuses the memory of two pictures.
      detect(before);
      detect(before);
      return detect(cut);
    });
  const afterWhite = after(white);
  expect(after(photo)).toStrictEqual(afterWhite);
  // The padded step must have run, or nothing would have been tested.
  expect(JSON.stringify(afterWhite)).toContain('"padded"');
});

const [released] = builds;

const longest = 240_000;

it(
  'holds no more memory after 600 mixed pictures than after 200',
  async () => {
    const child = await runChild(released!, 'memory.mjs', ['200', '600'], {
      flags: ['--expose-gc'],
      longest,
    });
    expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
    const [early, late] = child.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { rss: number }).rss);
    expect(late! / early!).toBeLessThan(1.03);
  },
  longest,
);
