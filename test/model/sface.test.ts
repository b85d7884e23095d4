import { rmSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, describe, expect, test } from 'vitest';
import { loadAddon } from '../../src/engine/addon.ts';
import { readDraft } from '../../src/engine/pack.ts';
import { analyseOptions, smallSample } from '../fixtures/pictures.ts';
import { chipOf, type Pixels } from './support/chip.ts';
import { cell, dimensions, filters, size, standInPack, temporaryFolder } from './support/standin.ts';

/** SFace itself cannot be had everywhere: a net with its face stands in, whose answer can be worked out by hand. */

const addon = loadAddon();
const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true }));

// At this width a chip's pixel covers less than two of the picture, which therefore is not shrunk before.
const photo = await smallSample(1, 960);
const { data, info } = await sharp(photo).raw().toBuffer({ resolveWithObject: true });
const picture: Pixels = { data, width: info.width, height: info.height };

/** What the net's arithmetic gives for a chip: a filter's cells row by row, then the other's; of unit length. */
function expected(chip: Float32Array, order: readonly number[], mean: number, scale: number): number[] {
  const cells = size / cell;
  const answer = filters.flatMap(({ rgb, bias }) =>
    Array.from({ length: cells * cells }, (_, place) => {
      const [left, top] = [(place % cells) * cell, Math.floor(place / cells) * cell];
      let sum = 0;
      for (let y = top; y < top + cell; y++) {
        for (let x = left; x < left + cell; x++) {
          for (const [channel, weight] of rgb.entries()) {
            sum += weight * (Math.round(chip[3 * (y * size + x) + order[channel]!]!) - mean) * scale;
          }
        }
      }
      return sum / cell ** 2 + bias;
    }),
  );
  const length = Math.hypot(...answer);
  return answer.map((value) => value / length);
}

function embed(directory: string) {
  const result = addon.analyse(directory, photo, analyseOptions);
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result;
}

function largestDifference(embedding: Float32Array, other: readonly number[]): number {
  return Math.max(...other.map((value, i) => Math.abs(value - embedding[i]!)));
}

describe('a net with the face of SFace', () => {
  test.each([
    ['RGB of 0 to 255, as SFace has it', { channels: 'rgb', mean: 0, scale: 1 }, [0, 1, 2]],
    ['BGR', { channels: 'bgr', mean: 0, scale: 1 }, [2, 1, 0]],
    ['RGB of half the range, less a mean', { channels: 'rgb', mean: 100, scale: 0.5 }, [0, 1, 2]],
  ] as const)('is fed %s when its manifest says so, and gives what it works out', (_, feeding, order) => {
    const directory = standInPack(folder, feeding);
    const { template } = readDraft(directory).embedder;
    const { faces } = embed(directory).image;
    expect(faces).toHaveLength(3);
    for (const face of faces) {
      const { embedding } = face;
      expect(embedding).toHaveLength(dimensions);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
      const chip = chipOf(picture, face, template, size);
      expect(largestDifference(embedding, expected(chip, order, feeding.mean, feeding.scale))).toBeLessThan(
        2e-3,
      );
      // Fed otherwise it would say something else, so the agreement above proves the order and the scale.
      const otherOrder = [...order].reverse();
      expect(
        largestDifference(embedding, expected(chip, otherOrder, feeding.mean, feeding.scale)),
      ).toBeGreaterThan(0.02);
      expect(largestDifference(embedding, expected(chip, order, 20, 0.5))).toBeGreaterThan(0.02);
    }
  });

  test('needs no cohort: similarities are cosines then', () => {
    const { faces } = embed(standInPack(folder)).image;
    expect(faces.map(({ cohort_score }) => cohort_score)).toEqual([0, 0, 0]);
  });

  test.each([
    ['other dimensions', { dimensions: 512 }, /"fc1" has 128 numbers, but the manifest says 512 dimensions/],
    ['an output that it does not have', { output: 'embedding' }, /no output "embedding"; there are "fc1"/],
    ['an input that it does not have', { input: 'input' }, /no input "input"; there are "data"/],
    ['another size of chip', { size: 96 }, /sface\.onnx cannot be used.*112/s],
    ['an unknown family', { family: 'sface' }, /unknown embedder family "sface"/],
    ['a file that is not there', { file: 'missing.onnx' }, /missing\.onnx cannot be used/],
  ])('described with %s is refused at load by what is wrong', (_, change, message) => {
    const directory = standInPack(folder, change);
    expect(() => addon.loadPack(directory)).toThrow(message);
    expect(addon.analyse(directory, photo, analyseOptions)).toMatchObject({
      ok: false,
      code: 'internal_error',
    });
  });
});
