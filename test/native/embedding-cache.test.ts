import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { loadAddon, type MatchOptions, type MatchResult } from '../../src/engine/addon.ts';
import { bodyOf, matchOptions, pack, sample } from '../fixtures/pictures.ts';

/** The embedding cache as a worker uses it. It is one for the process: each test empties it. */

const addon = loadAddon();
const one = sample(1);
const three = sample(3);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();
const none = { decode: 0, detect: 0, align: 0, embed: 0 };

function match(first: Buffer, second: Buffer, more: Partial<MatchOptions> = {}): MatchResult {
  const { body, image1, image2 } = bodyOf(first, second);
  const digests = { image1_sha256: sha256(first), image2_sha256: sha256(second) };
  const result = addon.match(pack, body, image1, image2, { ...matchOptions, ...digests, ...more });
  if (!result.ok) throw new Error(result.code);
  return result;
}

/** Hits and misses of what `act` does. */
function counted(act: () => void): [hits: number, misses: number] {
  const before = addon.embeddingCache();
  act();
  const after = addon.embeddingCache();
  return [after.hits - before.hits, after.misses - before.misses];
}

afterEach(() => addon.keepEmbeddings(0));

describe('the embedding cache', () => {
  it('keeps nothing until it is told to, and nothing any more when told not to', () => {
    expect(counted(() => match(one, three))).toEqual([0, 2]);
    expect(addon.embeddingCache().pictures).toBe(0);
    addon.keepEmbeddings(8);
    match(one, three);
    expect(addon.embeddingCache().pictures).toBe(2);
    addon.keepEmbeddings(0);
    expect(addon.embeddingCache().pictures).toBe(0);
    expect(counted(() => match(one, three))).toEqual([0, 2]);
  });

  it('gives the same answer a second time, with no stage run', () => {
    addon.keepEmbeddings(8);
    const { timings_ms, ...first } = match(one, three);
    expect(Object.values(timings_ms).every((ms) => ms > 0)).toBe(true);
    let again: MatchResult | undefined;
    expect(
      counted(() => {
        again = match(one, three);
      }),
    ).toEqual([2, 0]);
    expect(again).toStrictEqual({ ...first, timings_ms: none });
  });

  it.each<[string, () => void]>([
    ['in the other mode', () => match(one, three, { accuracy_mode: 'balance' })],
    ['with another min_det_score', () => match(one, three, { min_det_score: 0.99 })],
    ['without the fallback', () => match(one, three, { use_heuristic_fallback: false })],
    ['with another limit of pixels', () => match(one, three, { max_pixels: 49_999_999 })],
    ['with another least side', () => match(one, three, { min_side: 17 })],
    [
      'with one byte more',
      () => match(Buffer.concat([one, Buffer.of(0)]), Buffer.concat([three, Buffer.of(0)])),
    ],
  ])('does not know a picture %s', (_, act) => {
    addon.keepEmbeddings(8);
    match(one, three);
    expect(counted(act)).toEqual([0, 2]);
  });

  it('is neither asked nor filled by a match without digests', () => {
    addon.keepEmbeddings(8);
    const { body, image1, image2 } = bodyOf(one, three);
    expect(counted(() => addon.match(pack, body, image1, image2, matchOptions))).toEqual([0, 0]);
    expect(addon.embeddingCache().pictures).toBe(0);
  });

  it.each([
    ['31 bytes', new Uint8Array(31)],
    ['33 bytes', new Uint8Array(33)],
    ['64 hexadecimal digits', sha256(one).toString('hex')],
    ['32 bytes in words', new Uint32Array(8)],
  ])('refuses a digest of %s', (_, digest) => {
    const { body, image1, image2 } = bodyOf(one, three);
    const options = { ...matchOptions, image2_sha256: digest as Uint8Array };
    expect(addon.match(pack, body, image1, image2, options)).toEqual({
      ok: false,
      code: 'internal_error',
      message: 'image2_sha256 is not of 32 bytes',
    });
  });

  it('refuses a capacity that is no number', () => {
    expect(() => addon.keepEmbeddings('8' as unknown as number)).toThrow(TypeError);
  });
});
