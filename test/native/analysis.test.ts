import { readFileSync, writeFileSync } from 'node:fs';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import type { AccuracyMode, Face } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { packDirectory, readCalibratedManifest } from '../../src/engine/manifest.ts';
import { cosine } from '../../src/scoring/similarity.ts';
import { analyseOptions, sample, smallSample } from '../fixtures/images.ts';

/**
 * Compares the faces of an analysis with the recorded ones, and with those of the same image decoded by sharp.
 */

/**
 * Returns a function that lists the faces of an image from left to right, because the order by size is unstable
 * for equally large faces.
 */
function faceFinder(pack: string) {
  const directory = packDirectory(pack);
  const manifest = readCalibratedManifest(directory);
  const addon = loadPack(directory, manifest);
  return (image: Uint8Array, accuracy_mode: AccuracyMode): Face[] => {
    const options = { ...analyseOptions, min_det_score: manifest.min_det_score, accuracy_mode };
    const found = addon.analyse(directory, image, options);
    if (!found.ok) throw new Error(JSON.stringify(found));
    return found.image.faces.toSorted((a, b) => a.box.x - b.box.x);
  };
}

/**
 * Maximum and mean deviation of the cosines between 22 faces of six group photos. RENEW_COSINES=1 writes cosines.json
 * again after a change of the nets. The last bits of float convolutions differ between CPUs, and rounding to bytes
 * magnifies the difference. For int8, an error of a millionth in the input results in a cosine of 0.997. A CPU without
 * VNNI deviated by 0.0135 in the mean, and by 0.0056 with unsigned weights. An AMD EPYC without AVX-512 deviates by
 * 0.0093. With Debian 13's OpenCV, one of 231 cosines deviated by 0.063.
 */
const limits: Record<string, { max: number; mean: number }> = {
  default: { max: 0.005, mean: 0.001 },
  int8: { max: 0.08, mean: 0.012 },
};

/** The cosines of each face with all faces before it, by pack and mode. */
type Cosines = Record<string, Record<AccuracyMode, string>>;

const file = projectPath('test/fixtures/cosines.json');
const expected: Cosines = JSON.parse(readFileSync(file, 'utf8'));

describe.each(['default', 'int8'])('the pack %s', (pack) => {
  const detect = faceFinder(pack);

  test.each<AccuracyMode>(['fast', 'balance'])('returns the recorded cosines in mode %s', (mode) => {
    const faces = [1, 2, 3, 4, 5, 6].flatMap((number) => detect(sample(number), mode));
    expect(faces).toHaveLength(22);
    const measured = faces.flatMap(({ embedding }, i) =>
      faces.slice(0, i).map((other) => cosine(embedding, other.embedding)),
    );
    if (process.env.RENEW_COSINES === '1') {
      const rounded = measured.map((value) => Math.round(1000 * value) / 1000).join(' ');
      expected[pack] = { ...expected[pack]!, [mode]: rounded };
      writeFileSync(file, JSON.stringify(expected));
    }
    const held = expected[pack]![mode].split(' ').map(Number);
    expect(held).toHaveLength(measured.length);
    const { max, mean } = limits[pack]!;
    const offs = measured.map((value, i) => Math.abs(value - held[i]!));
    expect(Math.max(...offs)).toBeLessThanOrEqual(max);
    expect(offs.reduce((sum, off) => sum + off, 0) / offs.length).toBeLessThan(mean);
  });
});

describe('analyse of a lossy image decoded by the addon and by sharp', async () => {
  const detect = faceFinder('default');
  const original = await smallSample(1, 960);
  const points = ({ box: { x, y, width, height }, landmarks }: Face) => [
    ...Object.values(landmarks).flat(),
    ...[x, y, x + width, y + height],
  ];

  test.each<[string, Sharp]>([
    ['JPEG', sharp(original).jpeg()],
    ['JPEG, progressive', sharp(original).jpeg({ progressive: true })],
    ['JPEG, 4:4:4', sharp(original).jpeg({ chromaSubsampling: '4:4:4' })],
    ['JPEG, low quality', sharp(original).jpeg({ quality: 30 })],
    ['JPEG, mozjpeg', sharp(original).jpeg({ mozjpeg: true })],
    ['WebP', sharp(original).webp()],
    ['WebP, low quality', sharp(original).webp({ quality: 30 })],
  ])('returns the same faces: %s', async (_what, image) => {
    const encoded = await image.toBuffer();
    const seen = detect(encoded, 'fast');
    const oracle = detect(await sharp(encoded).png({ compressionLevel: 1 }).toBuffer(), 'fast');
    expect(seen.length).toBeGreaterThan(0);
    expect(seen).toHaveLength(oracle.length);
    for (const [i, face] of seen.entries()) {
      const others = points(oracle[i]!);
      // Compares box corners and landmarks, in pixels.
      expect(Math.max(...points(face).map((v, at) => Math.abs(v - others[at]!)))).toBeLessThan(1.5);
      // A JPEG may be decoded at half the size if that is enough for its faces; a PNG is decoded in full.
      expect(cosine(face.embedding, oracle[i]!.embedding)).toBeGreaterThan(0.99);
    }
  });
});
