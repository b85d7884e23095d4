import sharp, { type Sharp } from 'sharp';
import { describe, expect, it } from 'vitest';
import type { Analysis, Face } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { packDirectory, readManifest } from '../../src/engine/manifest.ts';
import { analyseOptions, smallSample } from '../fixtures/images.ts';

/**
 * Compares decoding with sharp. The addon returns no pixels, but faces: an image that the addon decodes must have the same
 * faces as a PNG that sharp made of it.
 */

const pack = packDirectory('default');
const addon = loadPack(pack, readManifest(pack));
const original = await smallSample(1, 960);

function analyse(picture: Uint8Array): Analysis {
  const result = addon.analyse(pack, picture, analyseOptions);
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result;
}

/** Sorts from left to right, because the order by size may change where two faces have the same size. */
const ordered = ({ image }: Analysis) => image.faces.toSorted((a, b) => a.box.x - b.box.x);

const asPng = (picture: Sharp) => picture.png({ compressionLevel: 1 }).toBuffer();
const points = ({ box: { x, y, width, height }, landmarks }: Face) => [
  ...Object.values(landmarks).flat(),
  ...[x, y, x + width, y + height],
];

/** Largest distance of a box corner or landmark from its counterpart, pixels. */
function furthest(a: Analysis, b: Analysis): number {
  const left = ordered(a).flatMap(points);
  const right = ordered(b).flatMap(points);
  expect(left).toHaveLength(right.length);
  return Math.max(...left.map((v, i) => Math.abs(v - right[i]!)));
}

/** Least cosine between the embeddings of a face and its counterpart. */
function leastSimilar(a: Analysis, b: Analysis): number {
  const [left, right] = [a, b].map((seen) => ordered(seen).map(({ embedding }) => embedding));
  return Math.min(
    ...left!.map((vector, face) => vector.reduce((sum, v, i) => sum + v * right![face]![i]!, 0)),
  );
}

describe('a lossy image has the same faces as when sharp decodes it', () => {
  const lossy: [string, Sharp][] = [
    ['JPEG', sharp(original).jpeg()],
    ['JPEG, progressive', sharp(original).jpeg({ progressive: true })],
    ['JPEG, 4:4:4', sharp(original).jpeg({ chromaSubsampling: '4:4:4' })],
    ['JPEG, low quality', sharp(original).jpeg({ quality: 30 })],
    ['JPEG, mozjpeg', sharp(original).jpeg({ mozjpeg: true })],
    ['JPEG, grey', sharp(original).greyscale().jpeg()],
    ['PNG, 16 bits', sharp(original).toColourspace('rgb16').png()],
    ['PNG, grey', sharp(original).greyscale().png()],
    ['PNG, palette', sharp(original).png({ palette: true, colours: 64 })],
    ['WebP', sharp(original).webp()],
    ['WebP, low quality', sharp(original).webp({ quality: 30 })],
  ];
  it.each(lossy)('%s', async (_what, picture) => {
    const encoded = await picture.toBuffer();
    const seen = analyse(encoded);
    const oracle = analyse(await asPng(sharp(encoded)));
    expect(seen.image.faces.length).toBeGreaterThan(0);
    expect(furthest(seen, oracle)).toBeLessThan(1.5);
    // A JPEG is decoded at half the size where that is enough for its faces, the PNG in full.
    expect(leastSimilar(seen, oracle)).toBeGreaterThan(0.99);
  });
});
