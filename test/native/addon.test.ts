import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { decodeInPlace } from '../../src/endpoints/json-form.ts';
import type { Addon } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { atOnce, step_cost } from '../../src/engine/turns.ts';
import { errorTable } from '../../src/errors.ts';
import { analyseOptions, blank, manifest, pack, sample } from '../fixtures/images.ts';

const addon: Addon = loadPack(pack, manifest);
const one = sample(1);
const faceless = await blank(200, 150, 'jpeg');
const [png, webp] = [await blank(200, 150, 'png'), await blank(200, 150, 'webp')];

const numbers = (names: string) =>
  Object.fromEntries(names.split(' ').map((name) => [name, expect.any(Number)]));
const point = [expect.any(Number), expect.any(Number)];
const face = (index: number) => ({
  index,
  ...{ found_by: 'primary', box: numbers('x y width height'), ...numbers('detection_score cohort_score') },
  landmarks: { right_eye: point, left_eye: point, nose: point, mouth_right: point, mouth_left: point },
  ...numbers('human_score occlusion_score'),
  pose: numbers('yaw pitch roll'),
  quality: numbers('sharpness brightness face_pixels dot_pitch_px stretch_ratio'),
  embedding: expect.any(Float32Array),
});
const timings_ms = numbers('decode detect align embed');

describe('the addon', () => {
  it('returns the image, its faces and the times from analyse', () => {
    const faces = [face(0), face(1), face(2)];
    const image = {
      width: 1920,
      height: 1280,
      format: 'jpeg',
      orientation: 1,
      min_detectable_face_px: 72,
      searched_rotations: [0],
      faces,
    };
    const rest = { timings_ms, cpu_ms: expect.any(Number), candidates: expect.any(Array) };
    expect(addon.analyse(pack, one, analyseOptions)).toStrictEqual({ ok: true, image, ...rest });
  });

  it('returns a unit vector for a face, which can be transferred to another thread', () => {
    const result = addon.analyse(pack, one, analyseOptions);
    if (!result.ok) throw new Error(result.code);
    for (const { embedding } of result.image.faces) {
      expect(embedding).toHaveLength(manifest.embedder.dimensions);
      expect(embedding.reduce((sum, v) => sum + v * v, 0)).toBeCloseTo(1, 4);
      structuredClone(embedding, { transfer: [embedding.buffer as ArrayBuffer] });
      expect(embedding).toHaveLength(0);
    }
  });

  it('reads an image at the offset of its view, also in shared memory', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(1001 + one.length + 99)).fill(0xff);
    shared.set(one, 1001);
    const known = addon.analyse(pack, one, analyseOptions);
    const moved = addon.analyse(pack, shared.subarray(1001, 1001 + one.length), analyseOptions);
    const times = { timings_ms, cpu_ms: 0 };
    expect({ ...moved, ...times }).toStrictEqual({ ...known, ...times });
  });

  it('ends a cancelled analysis, and no other', () => {
    const flags = new Uint8Array(new SharedArrayBuffer(2));
    flags[1] = 1;
    const analyse = (slot: number) =>
      addon.analyse(pack, one, analyseOptions, flags.subarray(slot, slot + 1));
    expect(analyse(0)).toMatchObject({ ok: true, image: { faces: { length: 3 } } });
    expect(analyse(1)).toEqual({ ok: false, code: 'internal_error', message: 'cancelled' });
  });

  it('zeroes discarded memory up to the last byte of the view and not beyond', () => {
    const memory = new Uint8Array(new SharedArrayBuffer(100_000)).fill(7);
    addon.discard(memory.subarray(10, 90_001), 89_991);
    expect(memory.indexOf(0)).toBe(10);
    expect(memory.lastIndexOf(0)).toBe(90_000);
    expect(memory.subarray(10, 90_001).every((byte) => byte === 0)).toBe(true);
    expect(() => addon.discard(new Uint8Array(0), 0)).not.toThrow();
  });

  it.each([-1, 11, Number.NaN, undefined])(
    'throws for %s as a byte count or offset in ten bytes',
    (written) => {
      expect(() => addon.discard(new Uint8Array(10), written as number)).toThrow(TypeError);
      expect(() => addon.wipe(new Uint8Array(10), written as number)).toThrow(TypeError);
      const copy = () => addon.copyBytes(new Uint8Array(20), written as number, new Uint8Array(10));
      expect(copy).toThrow(TypeError);
    },
  );

  it('copies and wipes bytes at the given offsets only', () => {
    const memory = new Uint8Array(new SharedArrayBuffer(8)).fill(9);
    addon.copyBytes(memory.subarray(1, 7), 2, Uint8Array.of(1, 2, 3, 4));
    expect([...memory]).toEqual([9, 9, 9, 1, 2, 3, 4, 9]);
    addon.wipe(memory.subarray(3, 7), 3);
    expect([...memory]).toEqual([9, 9, 9, 0, 0, 0, 4, 9]);
    expect(() => addon.copyBytes(new Uint8Array(3), 0, new Uint8Array(4))).toThrow('do not fit');
  });

  it('keeps what is written to memory in huge pages, and zeroes the memory when it is discarded', () => {
    const length = 9 * 1024 * 1024;
    const memory = new Uint8Array(new SharedArrayBuffer(length));
    addon.useHugePages(memory.subarray(1000));
    memory.fill(7, 0, length / 2);
    expect(memory.indexOf(0)).toBe(length / 2);
    addon.discard(memory, length / 2);
    expect(memory.every((byte) => byte === 0)).toBe(true);
    expect(() => addon.useHugePages(new Uint8Array(0))).not.toThrow();
  });

  it('returns the versions of the libraries in use', () => {
    expect(addon.versions()).toStrictEqual({
      onnxruntime: expect.stringMatching(/^1\.\d+\.\d+$/),
      opencv: expect.stringMatching(/^4\.\d+\.\d+/),
      libjpeg: expect.stringMatching(/^\d+\.\d+\.\d+/),
      libpng: expect.stringMatching(/^1\.\d+\.\d+$/),
      libwebp: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });
});

it('returns the same cohort scores for embeddings as for their faces', () => {
  const found = addon.analyse(pack, one, analyseOptions);
  if (!found.ok) throw new Error(found.code);
  const { faces } = found.image;
  const embeddings = Float32Array.from(faces.flatMap(({ embedding }) => [...embedding]));
  const expected = Float32Array.from(faces, ({ cohort_score }) => cohort_score);
  expect(addon.cohortScores(pack, embeddings)).toEqual(expected);
  expect(addon.cohortScores(pack, new Float32Array())).toEqual(new Float32Array());
  expect(addon.cohortScores(pack, embeddings, Uint8Array.of(1))).toEqual(expected.map(() => 0));
});

describe('analyse', () => {
  const gif = Buffer.from('GIF89a and so on');
  const corrupt = 'Corrupt JPEG data: premature end of data segment';
  const limit_pixels = 1000;
  it.each([
    ['another format', gif, { code: 'unsupported_image_format', detected: 'gif' }],
    ['an empty image', gif.subarray(0, 0), { code: 'unsupported_image_format', detected: 'unknown' }],
    ['half a JPEG', one.subarray(0, one.length / 2), { code: 'image_decode_failed', reason: corrupt }],
    ['half a PNG', png.subarray(0, png.length / 2), { code: 'image_decode_failed', reason: 'truncated' }],
    [
      'half a WebP',
      webp.subarray(0, webp.length / 2),
      { code: 'image_decode_failed', reason: 'the data of the frame are damaged or truncated' },
    ],
    [
      'an image that is too large',
      one,
      { code: 'image_dimensions', width: 1920, height: 1280, limit_pixels },
    ],
  ])('returns a failure for %s', (_what, photo, failure) => {
    const max_pixels = failure.code === 'image_dimensions' ? limit_pixels : analyseOptions.max_pixels;
    const failed = addon.analyse(pack, photo, { ...analyseOptions, max_pixels });
    expect(failed).toStrictEqual({ ok: false, ...failure });
  });

  it('returns no faces and no failure for an image without a face', () => {
    const image = {
      width: 200,
      height: 150,
      format: 'jpeg',
      orientation: 1,
      min_detectable_face_px: 15,
      faces: [],
    };
    const rest = { timings_ms, cpu_ms: expect.any(Number), candidates: [] };
    expect(addon.analyse(pack, faceless, analyseOptions)).toStrictEqual({ ok: true, image, ...rest });
  });

  it('treats a view whose memory was transferred as an empty image', () => {
    const moved = new Uint8Array(one);
    structuredClone(moved, { transfer: [moved.buffer] });
    expect(addon.analyse(pack, moved, analyseOptions)).toMatchObject({ ok: false, detected: 'unknown' });
  });
});

describe('misuse of the addon', () => {
  const words = new Uint16Array(10);
  it.each([undefined, 'image', words.buffer, words])('throws for %o instead of a Uint8Array', (value) => {
    const wrong = value as never;
    expect(() => addon.analyse(pack, wrong, analyseOptions)).toThrow(
      'Expected a Uint8Array as the second argument',
    );
    expect(() => addon.discard(wrong, 0)).toThrow('Expected a Uint8Array');
    expect(() => addon.useHugePages(wrong)).toThrow('Expected a Uint8Array');
    if (value !== undefined)
      expect(() => addon.analyse(pack, one, analyseOptions, wrong)).toThrow(/of one byte/);
  });

  it.each([undefined, new Uint8Array(4), [1], new Float32Array(100)])(
    'throws for %o instead of embeddings',
    (value) => {
      expect(() => addon.cohortScores(pack, value as never)).toThrow(/^Expected/);
      expect(() => addon.cohortScores(pack, new Float32Array(), 5 as never)).toThrow(/of one byte/);
    },
  );

  const absent = undefined as never;
  it.each<[what: string, call: () => unknown, message: RegExp]>([
    [
      "the pack's directory in loadPack",
      () => addon.loadPack(absent, manifest),
      /Expected the pack's directory as the first argument/,
    ],
    [
      "the pack's directory in analyse",
      () => addon.analyse(absent, one, analyseOptions),
      /Expected the pack's directory as the first argument/,
    ],
    ['a manifest', () => addon.loadPack('elsewhere', absent), /expected|convert/i],
    ['a detector', () => addon.detectorOutputs(absent), /expected|convert/i],
    ['options', () => addon.analyse(pack, one, absent), /expected|convert/i],
    ['a port', () => addon.dropNewConnections(absent), /./],
    ['a process id', () => addon.endWithParent(absent), /./],
    ['an exit code', () => addon.endNow(absent), /./],
  ])('throws without %s', (_what, call, message) => {
    expect(call).toThrow(message);
  });

  it.each([join(pack, 'missing'), projectPath('src'), ''])(
    'throws for a folder without the nets, %j',
    (directory) => {
      expect(() => addon.loadPack(directory, manifest)).toThrow(/detect\.onnx/);
      expect(() => addon.cohortScores(directory, new Float32Array(512))).toThrow('was not loaded');
      expect(addon.analyse(directory, one, analyseOptions)).toStrictEqual({
        ok: false,
        code: 'internal_error',
        message: `the pack in "${directory}" was not loaded`,
      });
    },
  );

  it('keeps the loaded pack in use when another fails to load', () => {
    expect(() => addon.loadPack(join(pack, 'missing'), manifest)).toThrow();
    expect(addon.analyse(pack, faceless, analyseOptions)).toMatchObject({ ok: true });
  });
});

/** Tests base64 in a request body. */
const size = fc.oneof(fc.nat(20), fc.nat(2000));
const photo = fc.tuple(size, fc.nat()).map(([length, seed]) => {
  return Buffer.from(Uint8Array.from({ length }, (_item, i) => Math.imul(i + seed, 2_654_435_761) >>> 13));
});

function placed(text: string): { body: Buffer; start: number; end: number } {
  const body = Buffer.from(new SharedArrayBuffer(text.length + 20));
  body.fill('"').write(text, 10, 'latin1');
  return { body, start: 10, end: 10 + text.length };
}

const decode = (body: Buffer, start: number, end: number) =>
  atOnce(decodeInPlace(body, start, end, addon.decodeBase64));

describe('base64', () => {
  it('decodes in place, with JSON escapes', () => {
    const escapes = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text.replaceAll('/', '\\/'),
      (text) => text.replaceAll('+', '\\u002B').replaceAll('=', '\\u003d'),
      (text) => text.replace(/[A-Z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
    );
    fc.assert(
      fc.property(photo, escapes, fc.boolean(), (bytes, write, padded) => {
        const text = bytes.toString('base64').replace(/=+$/, padded ? '$&' : '');
        const { body, start, end } = placed(write(text));
        const decoded = decode(body, start, end) as { end: number };
        expect(body.subarray(start, decoded.end).equals(bytes)).toBe(true);
        expect(body.toString('latin1', 0, start) + body.toString('latin1', end)).toBe('"'.repeat(20));
      }),
      { numRuns: 300 },
    );
  });

  it('accepts text with a changed character only if it is canonical', () => {
    const isCanonical = (text: string) => {
      const again = Buffer.from(text, 'base64').toString('base64');
      return text === again || text === again.replace(/=+$/, '');
    };
    const change = fc.constantFrom(...' \n-_=.,%\\é\0'.split(''), 'A', 'z');
    // Half of the places are at the end, where the padding is.
    const place = fc.oneof(
      fc.nat(),
      fc.nat(4).map((back) => -1 - back),
    );
    fc.assert(
      fc.property(photo, place, change, (bytes, where, char) => {
        const text = bytes.toString('base64');
        if (text === '') return;
        const at = where < 0 ? Math.max(0, text.length + where) : where % text.length;
        const changed = text.slice(0, at) + char + text.slice(at + 1);
        const { body, start, end } = placed(changed);
        const decoded = decode(body, start, end);
        // A backslash and the following characters may form an escape.
        const inJson = /\\(?:(\/)|u00([2-7][0-9a-f]))/i;
        const rewritten = changed.replace(
          inJson,
          (_escape, slash, hex) => slash ?? String.fromCharCode(Number.parseInt(hex, 16)),
        );
        expect('end' in decoded).toBe(isCanonical(rewritten));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['A', 1],
    ['AB', 2],
    ['AAB', 3],
    ['=', 0],
    ['AAA==', 4],
    ['data:image/png;base64,AAAA', 4],
    ['\\u0041A\\/A*', 10],
    ['AAAA\\nAAA', 4],
    ['AA\\xA', 2],
    ['A\\/\nA', 3],
  ])('rejects non-canonical text at the first invalid character: %s', (text, index) => {
    const { body, start, end } = placed(text);
    expect(decode(body, start, end)).toEqual({ wrong: start + index });
  });
});

describe('decodeInPlace in several steps', () => {
  const bytes = randomBytes(3 * 64 * 1024);
  const encoded = bytes.toString('base64');
  /** A step decodes 128 KiB of text. */
  const cut = 128 * 1024;

  /** Returns the text with an escape, an error or the padding near the end of the first step. */
  const around = (change: (text: string, at: number) => string) =>
    Array.from({ length: 40 }, (_item, shift) => change(encoded, cut - 32 + shift));
  const escaped = (text: string, at: number) => {
    const written = [...text.slice(at, at + 5)].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
    return text.slice(0, at) + written.join('') + text.slice(at + 5);
  };

  it('decodes the same bytes, wherever a step ends', () => {
    for (const text of around(escaped)) {
      const { body, start, end } = placed(text);
      const decoded = decode(body, start, end) as { end: number };
      expect(body.subarray(start, decoded.end).equals(bytes)).toBe(true);
      expect(body.toString('latin1', 0, start) + body.toString('latin1', end)).toBe('"'.repeat(20));
    }
  });

  it('decodes up to the padding, wherever a step ends', () => {
    for (let size = (cut / 4) * 3 - 12; size < (cut / 4) * 3 + 12; size++) {
      const { body, start, end } = placed(bytes.subarray(0, size).toString('base64'));
      const decoded = decode(body, start, end) as { end: number };
      expect(body.subarray(start, decoded.end).equals(bytes.subarray(0, size))).toBe(true);
    }
  });

  it('rejects the same character, wherever a step ends', () => {
    for (const [index, text] of around((all, at) => `${all.slice(0, at)}!${all.slice(at + 1)}`).entries()) {
      const { body, start, end } = placed(text);
      expect(decode(body, start, end)).toEqual({ wrong: start + cut - 32 + index });
    }
  });

  it('decodes at most 128 KiB in a step', () => {
    const text = Buffer.alloc(8 * 1024 * 1024, 'AAAA').toString();
    const { body, start, end } = placed(text);
    const calls: number[] = [];
    let steps = 0;
    const decodeGroups = (piece: Uint8Array) => {
      calls.push(piece.length);
      return addon.decodeBase64(piece);
    };
    for (const cost of decodeInPlace(body, start, end, decodeGroups)) {
      steps += 1;
      expect(cost).toBeLessThanOrEqual(step_cost);
      expect(calls.length).toBe(steps);
    }
    expect(steps).toBe(text.length / cut);
    expect(Math.max(...calls)).toBe(cut);
  });
});

/**
 * Checks the effect of CMakeLists.txt's compiler and linker options on the release addon, with binutils.
 */

const built = projectPath('build/addon/Release/facematch.node');
const readelf = (what: string) => execFileSync('readelf', ['--wide', what, built], { encoding: 'utf8' });

it('binds all functions of the addon when it is loaded, and makes their table read-only', () => {
  expect(readelf('--dynamic')).toMatch(/\(FLAGS\).*BIND_NOW|\(BIND_NOW\)/);
  expect(readelf('--program-headers')).toContain('GNU_RELRO');
});

it('has no segment or stack that is both writable and executable', () => {
  const segments = readelf('--program-headers').split('\n');
  const stack = segments.find((line) => line.includes('GNU_STACK'));
  expect(stack).toMatch(/ RW /);
  expect(segments.filter((line) => / (?:RWE|WE) /.test(line))).toEqual([]);
});

it('is built with checks of stacks, C library buffers and vector indices', () => {
  const symbols = readelf('--dyn-syms');
  expect(symbols).toContain('__stack_chk_fail');
  // libjpeg and libpng report damage with setjmp and longjmp.
  expect(symbols).toContain('__longjmp_chk');
  expect(symbols).toContain('__glibcxx_assert_fail');
});

it.runIf(process.arch === 'x64')('is built with markers for targets of indirect jumps (endbr64)', () => {
  const code = execFileSync('objdump', ['--disassemble', '--section=.text', built], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  expect(code.split('endbr64').length).toBeGreaterThan(100);
});

it("defines the core's error codes in the order of its constants, all in the error table", () => {
  const header = readFileSync(projectPath('native/core/error.h'), 'utf8');
  const listed = (pattern: RegExp, each: RegExp) =>
    [...pattern.exec(header)![1]!.matchAll(each)].map(([, word]) => word!);
  const words = listed(/kErrorCodes = \{([^}]*)\}/, /"([a-z_]+)"/g);
  const constants = listed(/enum class ErrorCode \{([^}]*)\}/, /\bk([A-Z]\w*)/g);
  expect(words.length).toBeGreaterThan(3);
  expect(words).toEqual(constants.map((name) => name.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase()));
  expect(Object.keys(errorTable)).toEqual(expect.arrayContaining(words));
});
