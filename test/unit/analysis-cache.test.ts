import { describe, expect, test } from 'vitest';
import type { AnalyseOptions, Analysis } from '../../src/engine/addon.ts';
import { AnalysisCache } from '../../src/engine/analysis-cache.ts';
import type { Outcome } from '../../src/engine/jobs.ts';

const options: AnalyseOptions = {
  accuracy_mode: 'fast',
  min_det_score: 0.5,
  use_heuristic_fallback: true,
  max_pixels: 1e6,
  min_side: 16,
};
const none = { decode: 0, detect: 0, align: 0, embed: 0 };

function imageOf(text: string): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(text.length));
  bytes.set(Buffer.from(text));
  return bytes;
}

const analysis = (width: number): Analysis => ({
  ok: true,
  image: { width, height: 1, format: 'png', orientation: 1, min_detectable_face_px: 9, faces: [] },
  timings_ms: { decode: 1, detect: 2, align: 3, embed: 4 },
  cpu_ms: 4,
  candidates: [],
});

/** Makes a cache whose analysis returns the length of the image's text as the width. */
function cached(capacity: number) {
  const analysed: string[] = [];
  const cache = new AnalysisCache(capacity);
  function analyseOne(image: Uint8Array): Outcome {
    const text = Buffer.from(image).toString();
    analysed.push(text);
    if (text === 'damaged') return { ok: false, code: 'image_decode_failed' };
    const found = analysis(text.length);
    if (text === 'timed out') found.image.search_timed_out = true;
    return found;
  }
  const ask = (texts: readonly string[], how = options, owner = 'a') => {
    const images = texts.map(imageOf);
    return cache.analyse(owner, images, how, (known) => {
      let leave: (reason: Error) => void = () => {};
      const left = new Promise<never>((_, reject) => {
        leave = reject;
      });
      const found = new Promise(setImmediate).then(() => ({
        first: images.map((image, at) => known[at] ?? analyseOne(image)),
      }));
      return { done: Promise.race([found, left]), idle: Promise.resolve(), cancel: leave };
    });
  };
  return { cache, ask, analysed };
}

describe('AnalysisCache', () => {
  test('analyses an image once, and returns the same analysis again with zero times', async () => {
    const { cache, ask, analysed } = cached(8);
    const first = await ask(['one', 'three']).done;
    expect(first.first).toEqual([analysis(3), analysis(5)]);
    const second = await ask(['three', 'twelve', 'one']).done;
    expect(second).toEqual({
      first: [{ ...analysis(5), timings_ms: none }, analysis(6), { ...analysis(3), timings_ms: none }],
    });
    expect(analysed).toEqual(['one', 'three', 'twelve']);
    expect([cache.hits, cache.misses, cache.size]).toEqual([2, 3, 3]);
  });

  test.each<Partial<AnalyseOptions>>([
    { accuracy_mode: 'balance' },
    { min_det_score: 0.51 },
    { use_heuristic_fallback: false },
    { max_pixels: 1e6 - 1 },
    { min_side: 17 },
  ])('analyses an image again with another option: %j', async (more) => {
    const { ask, analysed } = cached(8);
    await ask(['one']).done;
    await ask(['one'], { ...options, ...more }).done;
    expect(analysed).toEqual(['one', 'one']);
  });

  test('analyses an image again for another owner, to hide that it was sent before', async () => {
    const { ask, analysed } = cached(8);
    await ask(['one'], options, 'a').done;
    const other = await ask(['one'], options, 'b').done;
    expect(other.first).toEqual([analysis(3)]);
    expect(analysed).toEqual(['one', 'one']);
  });

  test('evicts the least recently used analysis', async () => {
    const { cache, ask, analysed } = cached(2);
    for (const text of ['one', 'two', 'one', 'three', 'one', 'two']) await ask([text]).done;
    expect(analysed).toEqual(['one', 'two', 'three', 'two']);
    expect(cache.size).toBe(2);
  });

  test.each(['damaged', 'timed out'])('does not cache a failed or partial result: %s', async (text) => {
    const { cache, ask, analysed } = cached(2);
    await ask([text]).done;
    await ask([text]).done;
    expect(analysed).toEqual([text, text]);
    expect(cache.size).toBe(0);
  });

  test('rejects a cancelled request with the reason', async () => {
    const ticket = cached(2).ask(['one']);
    ticket.cancel(new Error('left'));
    await expect(ticket.done).rejects.toThrow('left');
    await ticket.idle;
  });
});
