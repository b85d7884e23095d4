import { expect, test } from 'vitest';
import { loadPack } from '../../src/engine/load-addon.ts';
import { readDraft } from '../../src/engine/manifest.ts';
import { analyseOptions, smallSample } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';
import { type Kind, standIn, standInPack } from './support/standin.ts';

/**
 * Each kind of embedder by a small net that gives one face one direction, however it is fed: docs/packs.md lists them. Their files are
 * not to be had everywhere.
 */

const folder = newFolder();
const photo = await smallSample(1, 960);

const analysed = (pack: string) => loadPack(pack, readDraft(pack)).analyse(pack, photo, analyseOptions);

function embeddingsOf(kind: Kind): Float32Array[] {
  const { channels = 'rgb', mean = [0, 0, 0], scale = 1, dimensions = 128 } = kind;
  const same = mean.every((one) => one === mean[0]);
  const fed = { channels, mean: same ? mean[0] : mean, scale, dimensions };
  const result = analysed(standInPack(folder, fed, standIn(kind)));
  if (!result.ok) throw new Error(JSON.stringify(result));
  // Without a cohort similarities are cosines.
  expect(result.image.faces.every(({ cohort_score }) => cohort_score === 0)).toBe(true);
  return result.image.faces.map(({ embedding }) => embedding);
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

const kinds: [name: string, kind: Kind][] = [
  ['ArcFace', { mean: [127.5, 127.5, 127.5], scale: 1 / 127.5, dimensions: 512, batch: 'open' }],
  ['AdaFace', { channels: 'bgr', mean: [127.5, 127.5, 127.5], scale: 1 / 127.5, dimensions: 512 }],
  ['SFace', {}],
  ['a mean for each plane', { mean: [123.7, 116.3, 103.5], scale: 1 / 58 }],
  ['a mean for each plane, BGR', { channels: 'bgr', mean: [103.5, 116.3, 123.7], scale: 1 / 58 }],
  ['unit vectors', { normalised: true }],
  ['1,024 numbers', { dimensions: 1024 }],
  ['weights of half precision', { halves: 'weights', batch: 'open' }],
];

test.each(kinds)('%s gives the same face the same direction', (_, kind) => {
  const expected = embeddingsOf({ dimensions: kind.dimensions ?? 128 });
  const actual = embeddingsOf(kind);
  expect(actual.length).toBe(3);
  for (const [i, embedding] of actual.entries()) {
    expect(dot(embedding, embedding)).toBeCloseTo(1, 5);
    expect(dot(embedding, expected[i]!)).toBeGreaterThan(kind.halves ? 0.9999 : 0.999999);
  }
});

test('a wrong order of channels or a wrong scale gives another direction', () => {
  const [expected] = embeddingsOf({});
  const wrong = analysed(standInPack(folder, { channels: 'bgr' }));
  if (!wrong.ok) throw new Error(JSON.stringify(wrong));
  expect(dot(wrong.image.faces[0]!.embedding, expected!)).toBeLessThan(0.999);
});
