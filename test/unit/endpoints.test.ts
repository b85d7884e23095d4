import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { projectPath } from '../../src/config/paths.ts';
import { Comparisons } from '../../src/endpoints/comparison.ts';
import type { Analysed, FieldRule, ImageEndpoint } from '../../src/endpoints/endpoint.ts';
import { FormRules, readForm } from '../../src/endpoints/form.ts';
import { imageFields, maxOf, minOf } from '../../src/endpoints/images.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import { readJsonForm } from '../../src/endpoints/json-form.ts';
import type { Match } from '../../src/endpoints/match.ts';
import {
  analysisOptions,
  defaults,
  expectation,
  optionEntries,
  type PackDefaults,
} from '../../src/endpoints/options.ts';
import type { Analysis, Face, FoundBy, ImageFormat, NativeFailure } from '../../src/engine/addon.ts';
import { atOnce } from '../../src/engine/turns.ts';
import { Problem } from '../../src/errors.ts';
import { parseMultipart } from '../../src/http/body/multipart.ts';
import { Calibration } from '../../src/scoring/calibration.ts';
import { frameLimits } from '../../src/scoring/motion.ts';
import { comparePersons } from '../../src/scoring/persons.ts';
import { runs } from '../support/runs.ts';

/**
 * Tests that every response matches its schema for any analysis, that every valid field is read, and that invalid
 * fields are rejected.
 */

const takers = endpoints.flatMap((one) => (one.takes === 'images' ? [one] : []));
const own = { min_det_score: 0.7, live_threshold: 0.4 };
const liveness = { family: 'minifasnet' as const, live_threshold: 0.4, nets: [] };
const pack = { min_det_score: 0.7, liveness };
const limits = { max_parts: 64, max_field_bytes: 64, max_image_bytes: 100 };

describe('responses', () => {
  const calibration = new Calibration(
    [
      [0, 1],
      [0.2, 0.1],
      [0.8, 1e-7],
    ],
    1e-5,
  );
  const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
  const point = fc.tuple(number(-50, 5000), number(-50, 5000));
  const face = fc.record({
    box: fc.record({ x: point, y: point }).map(({ x: [x, width], y: [y, height] }) => ({
      ...{ x, y },
      ...{ width: Math.abs(width) + 1, height: Math.abs(height) + 1 },
    })),
    landmarks: fc.record({
      ...{ right_eye: point, left_eye: point, nose: point, mouth_right: point, mouth_left: point },
    }),
    detection_score: number(0, 1),
    found_by: fc.constantFrom<FoundBy>('primary', 'tiled', 'rotated', 'padded', 'enhanced'),
    scores: fc.record(
      { human_score: number(-9, 9), occlusion_score: number(-9, 9), live_score: number(0, 1) },
      { requiredKeys: [] },
    ),
    pose: fc.record({ yaw: number(-90, 90), pitch: number(-90, 90), roll: number(-180, 180) }),
    quality: fc.record({
      ...{ sharpness: number(0, 1), brightness: number(0, 1), face_pixels: number(1, 2000) },
      ...{ dot_pitch_px: number(0, 50), stretch_ratio: number(1, 3) },
    }),
    embedding: number(0, 6.3).map((angle) => Float32Array.of(Math.cos(angle), Math.sin(angle))),
    cohort_score: number(-0.2, 0.2),
  });
  const ms = number(0, 9);
  const analysis = fc
    .record({
      faces: fc.array(face, { maxLength: 3 }),
      format: fc.constantFrom<ImageFormat>('jpeg', 'png', 'webp'),
      orientation: fc.integer({ min: 1, max: 8 }),
      cut: fc.boolean(),
      left: fc.integer({ min: 0, max: 2 }),
      timings: fc.record({ decode: ms, detect: ms, align: ms, embed: ms }),
    })
    .map(
      ({ faces, format, orientation, cut, left, timings }): Analysis => ({
        ok: true,
        image: {
          ...{ width: 640, height: 480, format, orientation, min_detectable_face_px: 28 },
          faces: faces.map(({ scores, ...one }, index): Face => ({ ...one, ...scores, index })),
          ...(cut ? { search_timed_out: true } : {}),
          ...(left > 0 ? { faces_omitted: left } : {}),
        },
        timings_ms: timings,
        cpu_ms: 4,
        candidates: [],
      }),
    );
  const failure = fc.constantFrom<NativeFailure>(
    { ok: false, code: 'unsupported_image_format', detected: 'heic' },
    { ok: false, code: 'image_decode_failed' },
    { ok: false, code: 'image_too_complex' },
    { ok: false, code: 'image_dimensions', width: 1, height: 9, limit_pixels: 5 },
  );
  const outcome = fc.oneof({ weight: 5, arbitrary: analysis }, failure);
  const analysed = fc
    .record({
      outcomes: fc.array(outcome, { minLength: 2, maxLength: 4 }),
      threshold_percent: fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10),
      auto_pair_best: fc.boolean(),
      reject_low_quality: fc.boolean(),
      reject_presentation_attack: fc.boolean(),
      face: fc.integer({ min: -1, max: 2 }),
    })
    .map(({ outcomes, face, ...chosen }): Analysed => {
      const options = { ...defaults, ...own, ...chosen, image1_face_index: face, face_index: face };
      const missing = { filename: undefined, image: new Problem('missing_field', { field: 'image2' }) };
      const targets = outcomes.slice(1).map((_item, at) => ({ filename: `${at}.png`, image: at + 1 }));
      const model = { pack: 'default', version: '1' };
      const context = { request_id: 'r', options, warnings: [], queue_ms: 0.123, total_ms: 9.876, model };
      const photos = outcomes.map((_, at) => ({
        field: at === 0 ? 'image1' : 'image2',
        index: Math.max(0, at - 1),
        filename: undefined,
      }));
      const comparisons = new Comparisons();
      return { context, photos, targets: [...targets, missing], outcomes, comparisons, calibration };
    });

  test.each(takers)('match the schema, or are a Problem: $id', (endpoint) => {
    // The strict schema rejects unknown members.
    const schema = (endpoint.success.schema as z.ZodObject).strict();
    let responses = 0;
    const check = (made: Analysed) => {
      const given = endpoint.redeems === undefined ? made : withFrames(made);
      const response = buildResponse(endpoint, given);
      if ('rejection' in response) {
        expect(response.rejection).toBeInstanceOf(Problem);
        return;
      }
      schema.parse(response.body);
      responses += 1;
      const rounded = JSON.stringify(response.body, (key, value) => (key === 'false_match_rate' ? 0 : value));
      expect(rounded).not.toMatch(/\.\d{5}|-0[,}\]]/);
    };
    const numRuns = runs(1000);
    fc.assert(fc.property(analysed, check), { numRuns });
    expect(responses).toBeGreaterThan(0);
  });

  test.each(takers)('use every field, in the analysis or afterwards: $id', (endpoint) => {
    const read = new Set<string>();
    const watched = <T extends object>(options: T): T =>
      new Proxy(options, {
        get(target, name) {
          read.add(String(name));
          return Reflect.get(target, name);
        },
        // A copy would read all options, even unused ones.
        ownKeys() {
          throw new Error('Pick the used options instead of copying all');
        },
      });
    const named = Object.keys(endpoint.fields).filter(
      (name) => endpoint.fields[name]!.kind !== 'image' && endpoint.fields[name]!.kind !== 'token',
    );
    for (const made of fc.sample(analysed, 200)) {
      const given = endpoint.redeems === undefined ? made : withFrames(made);
      const options = watched(given.context.options);
      analysisOptions(options);
      try {
        buildResponse(endpoint, { ...given, context: { ...given.context, options } });
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
      }
    }
    expect(named.filter((name) => !read.has(name))).toEqual([]);
  });

  test('decide a match by percentage and threshold, apart from rounding', () => {
    const { buildResponse } = takers.find(({ id }) => id === 'match')!;
    fc.assert(
      fc.property(analysed, (given) => {
        const response = buildResponse(given);
        if ('rejection' in response) return;
        const { match, pairs_compared, confidence_percent } = response.body as Match;
        const [a, b] = given.outcomes as [Analysis, Analysis];
        expect(pairs_compared).toBeLessThanOrEqual(a.image.faces.length * b.image.faces.length);
        const distance = confidence_percent - given.context.options.threshold_percent;
        if (Math.abs(distance) > 0.05) expect(match).toBe(distance > 0);
      }),
    );
  });
});

/** Builds the response from the worker's result. */
function buildResponse(endpoint: ImageEndpoint, given: Analysed) {
  const step = endpoint.persons?.(given);
  const cohortScores = (vectors: Float32Array) => new Float32Array(vectors.length / 2);
  return step
    ? step.buildResponse(given, comparePersons(step.input, { cohortScores }))
    : endpoint.buildResponse(given);
}

test('passes every analysis option to the addon', () => {
  const values = readFileSync(projectPath('native/binding/values.cpp'), 'utf8');
  for (const [name, { analysis }] of optionEntries) if (analysis) expect(values).toContain(`"${name}"`);
});

/** Uses the first image as the frames of a challenge, and the others as reference photos. */
function withFrames(given: Analysed): Analysed {
  const [first, ...others] = given.outcomes;
  const photos = [
    ...Array.from({ length: frameLimits.min }, (_, index) => ({
      field: 'frame',
      index,
      filename: undefined,
    })),
    ...others.map((_, index) => ({ field: 'image2', index, filename: undefined })),
  ];
  const outcomes = [...Array(frameLimits.min).fill(first), ...others];
  return { ...given, photos, outcomes, steps: ['left', 'up'] };
}

/** Returns the fields that an endpoint requires in addition to images. */
const tokensOf = ({ fields }: ImageEndpoint) =>
  Object.entries<FieldRule>(fields).flatMap(([name, { kind }]) =>
    kind === 'token' ? [[name, 'token']] : [],
  );

function bodyOf(endpoint: ImageEndpoint, texts: Readonly<Record<string, string>>): Buffer {
  const { fields } = endpoint;
  const images = imageFields(fields).flatMap((name) =>
    Array(minOf(fields[name])).fill([name, 'picture']),
  ) as [string, string][];
  const lines = [...images, ...Object.entries({ ...Object.fromEntries(tokensOf(endpoint)), ...texts })].map(
    ([name, text]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
  );
  return Buffer.from(`${lines.join('')}--b--\r\n`);
}

const readMultipart = (body: Buffer, endpoint: ImageEndpoint, itsPack: PackDefaults = pack) => {
  const parts = atOnce(parseMultipart(body, 'b', { parts: limits.max_parts, header_bytes: 1024 }));
  return readForm(body, parts, new FormRules(endpoint), limits, itsPack);
};

const formOf = (endpoint: ImageEndpoint, texts: Readonly<Record<string, string>>, itsPack?: PackDefaults) =>
  readMultipart(bodyOf(endpoint, texts), endpoint, itsPack);

function jsonOf(endpoint: ImageEndpoint, members: object) {
  const imageText = Buffer.from('picture').toString('base64');
  const { fields } = endpoint;
  const images = imageFields(fields).map((name) => [
    name,
    maxOf(fields[name]) > 1 ? Array(minOf(fields[name])).fill(imageText) : imageText,
  ]);
  const required = Object.fromEntries([...tokensOf(endpoint), ...images]);
  return readJson(JSON.stringify({ ...required, ...members }), endpoint);
}

function readJson(body: string, endpoint: ImageEndpoint) {
  const wholeGroups = () => ({ read: 0, written: 0 });
  return atOnce(readJsonForm(Buffer.from(body), new FormRules(endpoint), limits, pack, wholeGroups));
}

function anyOf(rule: FieldRule): fc.Arbitrary<string | number | boolean> {
  switch (rule.kind) {
    case 'image':
    case 'token':
      return fc.constant('');
    case 'boolean':
      return fc.constantFrom(true, false, 'True', 'FALSE', '1', '0');
    case 'choice':
      return fc.constantFrom(...rule.values);
    case 'integer':
      return fc.integer(rule);
    case 'decimal':
      return fc
        .integer({ min: rule.min * 1000, max: rule.max * 1000 })
        .map((thousandths) => thousandths / 1000);
  }
}

/** Invalid strings: for every kind of field, for numbers, and by kind. */
const everywhere = [' ', '\0', '1 ', ' 1', '1\t', 'yes', 'null', 'NaN', 'Infinity', 'FAST'];
const numbers = '1e2 +1 -0 ٣ 0x1 1_0 1,5 1. .5 00 --1 -0.0 1/2 50% -2'.split(' ');
const wrong: Record<FieldRule['kind'], readonly string[]> = {
  image: [],
  token: [],
  decimal: [...everywhere, ...numbers, 'True', '100.0000001'],
  integer: [...everywhere, ...numbers, 'True', '1.5', '1.0', '2147483648'],
  choice: [...everywhere, 'True', 'fast,balance', '0'],
  boolean: [...everywhere, 'on', 'off', '10', 'tru\u212a'],
};

describe('fields', () => {
  const cases = takers.flatMap((endpoint) =>
    Object.entries(endpoint.fields)
      .filter(([, { kind }]) => kind !== 'image' && kind !== 'token')
      .map(([name, rule]) => ({ endpoint, id: endpoint.id, name, rule })),
  );

  test.each(cases)(
    '$id parses $name, and keeps the other fields at their defaults',
    ({ endpoint, name, rule }) => {
      fc.assert(
        fc.property(anyOf(rule), (value) => {
          const read = rule.kind === 'boolean' ? /true|1/i.test(String(value)) : value;
          const includes = name === 'reject_presentation_attack' ? { detect_presentation_attack: read } : {};
          const options = { ...defaults, ...own, ...includes, [name]: read };
          expect(formOf(endpoint, { [name]: String(value) })).toMatchObject({ options, warnings: [] });
          // Sends the value in JSON, or as the string that a form would contain.
          for (const sent of [value, String(value)])
            expect(jsonOf(endpoint, { [name]: sent })).toMatchObject({ options, warnings: [] });
        }),
        { numRuns: 20 },
      );
    },
  );

  test.each(cases)('$id rejects invalid values of $name', ({ endpoint, name, rule }) => {
    if (rule.kind === 'image' || rule.kind === 'token') return;
    const expected = expectation(rule);
    const expectRejected = (read: () => unknown, sent: string) => {
      const detail = `Send ${expected} as ${name}, not ${sent}.`;
      expect(read).toThrow(expect.objectContaining({ extras: { detail, field: name, expected } }));
    };
    const expectRejectedText = (text: string, sent: string) => {
      expectRejected(() => formOf(endpoint, { [name]: text }), sent);
      expectRejected(() => jsonOf(endpoint, { [name]: text }), sent);
    };
    for (const text of wrong[rule.kind]) expectRejectedText(text, `"${text.replace(/[\0\t]/, '\ufffd')}"`);
    expectRejectedText('é'.repeat(65), `"${'é'.repeat(32)}"…`);
    expectRejectedText('\u202e\u2028\u2029', `"${'\ufffd'.repeat(3)}"`);
    const values = rule.kind === 'decimal' ? [-1, 101] : [-2, 0.5, 3e9];
    for (const value of values) expectRejected(() => jsonOf(endpoint, { [name]: value }), String(value));
    for (const value of [[1], {}])
      expectRejected(() => jsonOf(endpoint, { [name]: value }), 'a list or an object');
  });

  test.each(cases)('$id uses the default for an empty $name', ({ endpoint, name }) => {
    const options = { ...defaults, ...own };
    expect(formOf(endpoint, { [name]: '' }).options).toEqual(options);
    for (const nothing of ['', null]) expect(jsonOf(endpoint, { [name]: nothing }).options).toEqual(options);
  });

  test.each(['detect_presentation_attack', 'reject_presentation_attack'])(
    'rejects %s if the pack has no liveness models',
    (field) => {
      const advanced = takers.find(({ id }) => id === 'match_advanced')!;
      const ask = (sent: string) => formOf(advanced, { [field]: sent }, { min_det_score: 0.7 });
      const expected = 'false, because the model pack has no liveness models';
      const extras = { field, expected, detail: expect.stringContaining(`Send false as ${field}`) };
      expect(() => ask('true')).toThrow(expect.objectContaining({ code: 'invalid_field', extras }));
      expect(ask('false').options).toEqual({ ...defaults, min_det_score: 0.7, live_threshold: 0.5 });
    },
  );

  test.each(takers)('$id names the unknown fields when an image is missing', (endpoint) => {
    // Browsers send file inputs without a chosen file like this.
    const part = (name: string) =>
      `--b\r\ncontent-disposition: form-data; name="${name}"; filename=""\r\n\r\n\r\n`;
    const tokens = tokensOf(endpoint).map(
      ([name, text]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
    );
    const ask = (...names: string[]) =>
      readMultipart(Buffer.from(`${tokens.join('')}${names.map(part).join('')}--b--\r\n`), endpoint);
    expect(() => ask('img1', 'img2', 'img1')).toThrow('; you sent img1, img2.');
    const expectedNames = `"", \ufffd, ${'c'.repeat(32)}…, d, ….`;
    expect(() => ask('', '\u202e', 'c'.repeat(40), 'd', 'e')).toThrow(expectedNames);
  });

  const jpeg = '\xff\xd8\xff\xe0\x00\x10JFIF';
  const jpegBase64 = Buffer.from(jpeg, 'latin1').toString('base64');
  test.each(takers)('$id rejects a file under an unknown name', (endpoint) => {
    const single = imageFields(endpoint.fields).find((name) => maxOf(endpoint.fields[name]) === 1);
    const names = [
      'photo',
      '',
      '__proto__',
      'image9',
      'image9[]',
      'image9[0]',
      ...(single ? [`${single}[]`] : []),
    ];
    const files = [
      ['; filename=a.jpg', jpeg],
      ['; filename=a.jpg', ''],
      ['; filename=""', 'any bytes'],
      ['', jpeg],
      ['', jpegBase64],
      ['', `data:image/jpeg;base64,${jpegBase64}`],
    ];
    for (const field of names) {
      const unknown = expect.objectContaining({
        code: 'unknown_file',
        extras: expect.objectContaining({ field }),
      });
      for (const [filename, content] of files) {
        const part = `--b\r\ncontent-disposition: form-data; name="${field}"${filename}\r\n\r\n${content}\r\n`;
        const body = Buffer.concat([Buffer.from(part, 'latin1'), bodyOf(endpoint, {})]);
        expect(() => readMultipart(body, endpoint)).toThrow(unknown);
      }
      const values = [jpegBase64, `data:;base64,${jpegBase64}`, [jpegBase64], [{ data: [1, jpegBase64] }]];
      for (const value of values) {
        expect(() => jsonOf(endpoint, Object.fromEntries([[field, value]]))).toThrow(unknown);
      }
    }
    const escaped = JSON.stringify({ photo: jpegBase64 }).replaceAll('/', '\\/');
    expect(() => readJson(escaped, endpoint)).toThrow(
      'This endpoint has no file field photo. Send images as ',
    );
  });

  const repeating = takers.flatMap(({ fields, ...endpoint }) =>
    imageFields(fields)
      .filter((name) => maxOf(fields[name]) > 1)
      .map((name) => ({
        id: endpoint.id,
        endpoint: { ...endpoint, fields },
        name,
        most: maxOf(fields[name]),
      })),
  );
  test.each(repeating)(
    '$id accepts $name with and without an index, in order and up to the maximum',
    ({ endpoint, name, most }) => {
      const least = minOf(endpoint.fields[name]);
      const others = imageFields(endpoint.fields)
        .filter((other) => other !== name)
        .flatMap((other) => Array<string>(minOf(endpoint.fields[other])).fill(other));
      const spellings = [`${name}[7]`, name, `${name}[]`, `${name}[7]`, name, `${name}[]`];
      const names = spellings.slice(0, Math.min(most, Math.max(4, least)));
      const part = (field: string, file: string) =>
        `--b\r\ncontent-disposition: form-data; name="${field}"; filename=${file}\r\n\r\n${file}\r\n`;
      const tokens = tokensOf(endpoint).map(
        ([field, text]) => `--b\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${text}\r\n`,
      );
      const parts = [
        ...tokens,
        ...others.map((other) => part(other, 'o')),
        ...names.map((field, at) => part(field, `f${at}`)),
      ];
      const form = readMultipart(Buffer.from(`${parts.join('')}--b--\r\n`), endpoint);
      const own = form.photos.filter(({ field }) => field === name);
      expect(own.map(({ filename }) => filename)).toEqual(names.map((_, at) => `f${at}`));
      expect(own.map(({ index }) => index)).toEqual(names.map((_, at) => at));
      expect(form.warnings).toEqual([]);

      const [, second, third, fourth] = ['AAAA', 'AAAAAA', 'AAAAAAAA', 'AAAAAAAAAA'];
      const json = jsonOf(endpoint, { [`${name}[1]`]: second, [`${name}[]`]: [third, fourth] });
      const lengths = json.photos.map(({ field }, at) => [
        field,
        json.images[at]!.end - json.images[at]!.start,
      ]);
      expect(lengths.filter(([field]) => field === name).map(([, length]) => length)).toEqual([
        ...Array(least).fill(7),
        ...[4, 6, 7],
      ]);

      const beyond = [...others, ...Array(most + 1).fill(`${name}[]`)]
        .map((field) => part(field, 'f'))
        .join('');
      expect(() => readMultipart(Buffer.from(`${beyond}--b--\r\n`), endpoint)).toThrow(
        expect.objectContaining({
          code: 'too_many_images',
          extras: expect.objectContaining({ limit: most }),
        }),
      );
    },
  );

  test.each(takers)('$id ignores each unknown field with a warning', (endpoint) => {
    const names = new Set(['colour', '__proto__', ...takers.flatMap(({ fields }) => Object.keys(fields))]);
    const foreign = [...names].filter((name) => !Object.hasOwn(endpoint.fields, name));
    const body = bodyOf(endpoint, Object.fromEntries(foreign.map((name) => [name, 'x'])));
    const { options, warnings } = readMultipart(body, endpoint);
    expect(options).toEqual({ ...defaults, ...own });
    expect(warnings.map(({ field }) => field)).toEqual(foreign);
  });
});
