import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Addon, loadAddon } from '../../src/engine/addon.ts';
import { projectPath } from '../../src/paths.ts';
import {
  bodyOf,
  detectOptions,
  gradient,
  manifest,
  matchOptions,
  pack,
  sample,
} from '../fixtures/pictures.ts';

const addon: Addon = loadAddon();
const one = sample(1);
const three = sample(3);
const blank = await gradient(200, 150).jpeg().toBuffer();

const point = [expect.any(Number), expect.any(Number)];
const face = (index: number) => ({
  index,
  box: {
    x: expect.any(Number),
    y: expect.any(Number),
    width: expect.any(Number),
    height: expect.any(Number),
  },
  landmarks: { right_eye: point, left_eye: point, nose: point, mouth_right: point, mouth_left: point },
  detection_score: expect.any(Number),
  found_by: 'primary',
  human_score: manifest.human && expect.any(Number),
  pose: { yaw: expect.any(Number), pitch: expect.any(Number), roll: expect.any(Number) },
  quality: {
    sharpness: expect.any(Number),
    brightness: expect.any(Number),
    face_pixels: expect.any(Number),
  },
});
const report = (width: number, height: number) => ({
  width,
  height,
  format: 'jpeg',
  orientation: 1,
  faces: [face(0), face(1), face(2)],
});
const timings_ms = {
  decode: expect.any(Number),
  detect: expect.any(Number),
  align: expect.any(Number),
  embed: expect.any(Number),
};

describe('answers', () => {
  it('match gives both pictures, every pair and the times', () => {
    const { body, image1, image2 } = bodyOf(one, three);
    const result = addon.match(pack, body, image1, image2, matchOptions);
    expect(result).toStrictEqual({
      ok: true,
      image1: report(1920, 1280),
      image2: report(1920, 1350),
      pairs: Array.from({ length: 9 }, () => ({
        image1_face_index: expect.any(Number),
        image2_face_index: expect.any(Number),
        similarity: expect.any(Number),
        normalised_similarity: expect.any(Number),
      })),
      timings_ms,
    });
  });

  it('detect gives one picture and the times', () => {
    expect(addon.detect(pack, one, detectOptions)).toStrictEqual({
      ok: true,
      image: report(1920, 1280),
      timings_ms,
    });
  });

  it('embed adds a unit vector a face, which can be moved to another thread', () => {
    const result = addon.embed(pack, one, detectOptions);
    if (!result.ok) throw new Error(result.code);
    expect(result.embeddings).toHaveLength(3);
    for (const embedding of result.embeddings) {
      expect(embedding).toBeInstanceOf(Float32Array);
      expect(embedding).toHaveLength(manifest.embedder.dimensions);
      expect(embedding.reduce((sum, v) => sum + v * v, 0)).toBeCloseTo(1, 4);
      structuredClone(embedding, { transfer: [embedding.buffer as ArrayBuffer] });
      expect(embedding).toHaveLength(0);
    }
  });

  it('match scores a pair by the embeddings and cohort means that embed gives', () => {
    const { body, image1, image2 } = bodyOf(one, three);
    const result = addon.match(pack, body, image1, image2, matchOptions);
    const first = addon.embed(pack, one, detectOptions);
    const second = addon.embed(pack, three, detectOptions);
    if (!result.ok || !first.ok || !second.ok) throw new Error('no result');
    for (const pair of result.pairs) {
      const a = first.embeddings[pair.image1_face_index]!;
      const b = second.embeddings[pair.image2_face_index]!;
      expect(a.reduce((sum, v, i) => sum + v * b[i]!, 0)).toBeCloseTo(pair.similarity, 4);
      const subtracted =
        (first.cohort_scores[pair.image1_face_index]! + second.cohort_scores[pair.image2_face_index]!) / 2;
      expect(pair.normalised_similarity).toBeCloseTo(pair.similarity - subtracted, 4);
    }
  });

  it('a picture is read where the view says, not from the start of its memory', () => {
    const padded = Buffer.concat([Buffer.alloc(1001, 0xff), one, Buffer.alloc(99)]);
    const result = addon.detect(pack, padded.subarray(1001, 1001 + one.length), detectOptions);
    expect(result).toMatchObject({ ok: true, image: { faces: { length: 3 } } });
  });

  it('versions names the libraries in use', () => {
    expect(addon.versions()).toStrictEqual({
      onnxruntime: expect.stringMatching(/^1\.\d+\.\d+$/),
      opencv: expect.stringMatching(/^4\.\d+\.\d+/),
      libjpeg: expect.stringMatching(/^\d+$/),
      libpng: expect.stringMatching(/^1\.\d+\.\d+$/),
      libwebp: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });
});

describe('failures are data', () => {
  const gif = Buffer.from('GIF89a and so on');
  const cut = one.subarray(0, one.length / 2);
  const limits = { ...matchOptions, max_pixels: 1000 };
  const index = { ...matchOptions, image2_face_index: 3 };
  it.each([
    [
      'a picture of another format',
      gif,
      three,
      matchOptions,
      { code: 'unsupported_image_format', field: 'image1', detected: 'gif' },
    ],
    [
      'an empty second picture',
      one,
      gif.subarray(0, 0),
      matchOptions,
      { code: 'unsupported_image_format', field: 'image2', detected: 'unknown' },
    ],
    ['a damaged second picture', one, cut, matchOptions, { code: 'image_decode_failed', field: 'image2' }],
    [
      'a picture that is too large',
      one,
      three,
      limits,
      { code: 'image_dimensions', field: 'image1', width: 1920, height: 1280, limit_pixels: 1000 },
    ],
    [
      'no face in the first',
      blank,
      three,
      matchOptions,
      { code: 'no_face_found', errors: [{ field: 'image1', code: 'no_face_found' }] },
    ],
    [
      'no face in the second',
      one,
      blank,
      matchOptions,
      { code: 'no_face_found', errors: [{ field: 'image2', code: 'no_face_found' }] },
    ],
    [
      'no face in either',
      blank,
      blank,
      matchOptions,
      {
        code: 'no_face_found',
        errors: [
          { field: 'image1', code: 'no_face_found' },
          { field: 'image2', code: 'no_face_found' },
        ],
      },
    ],
    [
      'an index past the last face',
      one,
      three,
      index,
      { code: 'face_index_out_of_range', field: 'image2', faces_found: 3 },
    ],
  ])('%s', (_what, first, second, options, failure) => {
    const { body, image1, image2 } = bodyOf(first, second);
    expect(addon.match(pack, body, image1, image2, options)).toStrictEqual({ ok: false, ...failure });
  });

  it('no face is no failure of detect and embed', () => {
    const image = { width: 200, height: 150, format: 'jpeg', orientation: 1, faces: [] };
    expect(addon.detect(pack, blank, detectOptions)).toStrictEqual({ ok: true, image, timings_ms });
    expect(addon.embed(pack, blank, detectOptions)).toStrictEqual({
      ok: true,
      image,
      timings_ms,
      embeddings: [],
      cohort_scores: [],
    });
  });

  it.each([
    ['starts after its end', { start: 10, end: 9 }],
    ['ends one past the body', { start: 0, end: one.length + three.length + 1 }],
    ['starts past the body', { start: 1e9, end: 2e9 }],
    ['starts before the body', { start: -1, end: 100 }],
    ['ends before the body', { start: 0, end: -1 }],
    ['ends where 64 bits wrap', { start: 0, end: Number.MAX_VALUE }],
    ['ends nowhere', { start: 0, end: Number.POSITIVE_INFINITY }],
  ])('a range that %s is an internal error, or empty, and reads nothing outside', (_what, range) => {
    const { body, image1, image2 } = bodyOf(one, three);
    const outcomes = [
      addon.match(pack, body, range, image2, matchOptions),
      addon.match(pack, body, image1, range, matchOptions),
    ];
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        ok: false,
        code: expect.stringMatching(/internal_error|unsupported_image_format/),
      });
    }
  });

  it('a view whose memory was moved away is an empty picture', () => {
    const moved = new Uint8Array(one);
    structuredClone(moved, { transfer: [moved.buffer] });
    expect(addon.detect(pack, moved, detectOptions)).toMatchObject({ ok: false, detected: 'unknown' });
  });
});

describe('misuse is an exception with a message, never a crash', () => {
  const noBytes: [string, unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['a string', 'image'],
    ['a number', 5],
    ['an array', [0xff, 0xd8]],
    ['an object', {}],
    ['an ArrayBuffer', new ArrayBuffer(10)],
    ['a DataView', new DataView(new ArrayBuffer(10))],
    ['16-bit words', new Uint16Array(10)],
    ['floats', new Float32Array(10)],
    ['signed bytes', new Int8Array(10)],
    ['clamped bytes', new Uint8ClampedArray(10)],
  ];
  it.each(noBytes)('%s instead of a Uint8Array', (_what, value) => {
    const range = { start: 0, end: 1 };
    expect(() => addon.detect(pack, value as never, detectOptions)).toThrow('Expected a Uint8Array second');
    expect(() => addon.embed(pack, value as never, detectOptions)).toThrow('Expected a Uint8Array second');
    expect(() => addon.match(pack, value as never, range, range, matchOptions)).toThrow(
      'Expected a Uint8Array second',
    );
  });

  it.each([undefined, null, 7, {}, [], Buffer.from(pack)])('%o instead of a directory', (value) => {
    expect(() => addon.loadPack(value as never)).toThrow("Expected the pack's directory first");
    expect(() => addon.detect(value as never, one, detectOptions)).toThrow(
      "Expected the pack's directory first",
    );
  });

  it.each([
    undefined,
    null,
    7,
    'fast',
    {},
    { ...detectOptions, accuracy_mode: undefined },
    { ...detectOptions, min_det_score: '0.7' },
  ])('%o instead of options', (value) => {
    expect(() => addon.detect(pack, one, value as never)).toThrow(/expected|convert/i);
    const { body, image1, image2 } = bodyOf(one, three);
    expect(() => addon.match(pack, body, image1, image2, value as never)).toThrow(/expected|convert/i);
  });

  it.each([
    undefined,
    null,
    7,
    {},
    { start: 0 },
    { start: '0', end: '10' },
  ])('%o instead of a range', (value) => {
    const { body, image2 } = bodyOf(one, three);
    expect(() => addon.match(pack, body, value as never, image2, matchOptions)).toThrow(/expected|convert/i);
  });

  it.each([
    ['is not there', join(pack, 'missing'), /manifest\.json/],
    ['is a file', join(pack, 'manifest.json'), /manifest\.json/],
    ['holds no pack', projectPath('src'), /manifest\.json/],
    ['is empty', '', /manifest\.json/],
  ])('a directory that %s does not load, and says so', (_what, directory, message) => {
    expect(() => addon.loadPack(directory)).toThrow(message);
    expect(addon.detect(directory, one, detectOptions)).toStrictEqual({
      ok: false,
      code: 'internal_error',
      message: expect.stringMatching(message),
    });
  });

  it('a pack that failed to load leaves the loaded one in use', () => {
    addon.loadPack(pack);
    expect(() => addon.loadPack(join(pack, 'missing'))).toThrow();
    expect(addon.detect(pack, blank, detectOptions)).toMatchObject({ ok: true });
  });
});
