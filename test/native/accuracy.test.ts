import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import type { AccuracyMode } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { packDirectory, readCalibratedManifest } from '../../src/engine/manifest.ts';
import { cosine } from '../../src/scoring/similarity.ts';
import { analyseOptions, sample } from '../fixtures/images.ts';

/**
 * The cosine of every two of the 22 faces in six group photos: changes of decoding, detection, alignment or embedding
 * show here. RENEW_COSINES=1 writes the file again, after a change of the nets.
 */

/**
 * How far a cosine may be off. The last bits of float convolutions differ between processors, and rounding to bytes magnifies
 * them: an input that is off by a millionth moves the embedding of int8 to a cosine of 0.997. A processor without VNNI, whose
 * products of bytes saturate, was off by 0.0135 in the mean, and by 0.0056 with unsigned weights.
 * With Debian 13's OpenCV one of 231 was off by 0.063.
 */
const limits: Record<string, { most: number; mean: number }> = {
  default: { most: 0.005, mean: 0.001 },
  int8: { most: 0.08, mean: 0.008 },
};

/** A line for each face: its cosines with those before it. */
type Cosines = Record<string, Record<AccuracyMode, string[]>>;

const file = projectPath('test/fixtures/cosines.json');
const expected: Cosines = JSON.parse(readFileSync(file, 'utf8'));

/** Cosines of each face with those before it; photo by photo, from left to right. */
function cosinesOf(pack: string, accuracy_mode: AccuracyMode): number[][] {
  const directory = packDirectory(pack);
  const manifest = readCalibratedManifest(directory);
  const addon = loadPack(directory, manifest);
  const options = { ...analyseOptions, min_det_score: manifest.min_det_score, accuracy_mode };
  const embeddings = [1, 2, 3, 4, 5, 6].flatMap((number) => {
    const found = addon.analyse(directory, sample(number), options);
    if (!found.ok) throw new Error(`sample ${number}: ${found.code}`);
    const { faces } = found.image;
    return faces.toSorted((a, b) => a.box.x - b.box.x).map(({ embedding }) => embedding);
  });
  return embeddings.map((face, i) => embeddings.slice(0, i).map((other) => cosine(face, other)));
}

describe.each(['default', 'int8'])('the pack %s', (pack) => {
  test.each<AccuracyMode>(['fast', 'balance'])('gives the cosines that it gave, mode %s', (mode) => {
    const measured = cosinesOf(pack, mode);
    if (process.env.RENEW_COSINES === '1') {
      const rounded = measured.map((row) => row.map((value) => Math.round(1000 * value) / 1000).join(' '));
      expected[pack] = { ...expected[pack]!, [mode]: rounded };
      writeFileSync(file, JSON.stringify(expected));
    }
    const held = expected[pack]![mode].map((line) => line.split(' ').map(Number));
    expect(measured.map((row) => row.length)).toEqual(Array.from({ length: 22 }, (_item, i) => i));
    const { most, mean } = limits[pack]!;
    const wrong = measured.flatMap((row, i) =>
      row.flatMap((value, j) => {
        const off = Math.abs(value - held[i]![j]!);
        return off <= most ? [] : [`faces ${j} and ${i}: ${value.toFixed(4)} instead of ${held[i]![j]}`];
      }),
    );
    expect(wrong).toEqual([]);
    const offs = measured.flatMap((row, i) => row.map((value, j) => Math.abs(value - held[i]![j]!)));
    expect(offs.reduce((sum, off) => sum + off, 0) / offs.length).toBeLessThan(mean);
  });
});
