import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { endpointIds } from '../../src/config/config.ts';
import { blank, samples } from '../fixtures/images.ts';
import { without } from '../support/without.mjs';
import {
  expectProblem,
  type Fields,
  type Json,
  lasting,
  paths,
  type TestResponse,
  twoPhotos,
} from './support/client.ts';
import { TestServer, withCache } from './support/server.ts';

/** Tests that the image endpoints accept JSON with the same fields, responses and errors as a form. */

const limit_bytes = 400_000;
const server = await TestServer.forFile({
  env: {
    ...withCache,
    FACEMATCH_ENDPOINTS: endpointIds.join(','),
    FACEMATCH_MAX_IMAGE_BYTES: String(limit_bytes),
  },
});

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const ask = (body: string | Uint8Array<ArrayBuffer>, path: string = paths.match, type = 'application/json') =>
  server.send({ path, body, headers: { 'content-type': type } });
const json = (body: object, path?: string): Promise<TestResponse> => ask(JSON.stringify(body), path);

const [one, three] = [samples.one, samples.three].map(base64) as [string, string];
const small = base64(await sharp(samples.one).resize(300).jpeg().toBuffer());
const pair = { image1: small, image2: small };
const single = { image: one };
const faceless = await blank(400, 300, 'png');
const chosen = { threshold_percent: '95.5', accuracy_mode: 'fast' };

describe('a JSON body', () => {
  test.each<[string, string, Fields, object]>([
    ['match', paths.match, twoPhotos(), { image1: one, image2: three }],
    [
      'match of data: URLs, whose media type is ignored',
      paths.match,
      twoPhotos(),
      { image1: `data:image/jpeg;base64,${one}`, image2: `DATA:text/plain;charset=utf-8;BASE64,${three}` },
    ],
    [
      'advanced',
      paths.advanced,
      { ...twoPhotos(), ...chosen, image1_face_index: '1', auto_pair_best: 'false' },
      {
        ...{ auto_pair_best: false, image2: three, image1_face_index: 1, ...chosen, image1: one },
        ...{ use_heuristic_fallback: 1, min_det_score: '', image2_face_index: null },
      },
    ],
    ['detect', paths.detect, { image: samples.one, min_det_score: '0.9' }, { ...single, min_det_score: 0.9 }],
    ['embed', paths.embed, { image: samples.one, face_index: '0' }, { ...single, face_index: 0 }],
    [
      'rejection',
      paths.match,
      { ...twoPhotos(), image2: faceless },
      { image1: one, image2: base64(faceless) },
    ],
  ])('gets the same response as a form: %s', async (_what, path, fields, body) => {
    const [asForm, asJson] = [await server.match(fields, { path }), await json(body, path)];
    const summaryOf = ({ status, headers, body }: TestResponse) => [
      status,
      headers.get('content-type'),
      lasting(body),
    ];
    expect(summaryOf(asJson)).toEqual(summaryOf(asForm));
  });

  test('accepts many images, and an invalid one does not affect the others', async () => {
    const large = Buffer.alloc(limit_bytes + 1);
    const late = Buffer.concat([Buffer.from('\n'), samples.three]);
    const image2 = [samples.three, Buffer.from('no image'), Buffer.alloc(0), faceless, large, late];
    const asForm = await server.match({ image1: samples.one, image2 }, { path: paths.many });
    const asJson = await json({ image1: one, image2: image2.map(base64) }, paths.many);
    const results = asForm.body.results.map((result: Json) => without(result, 'filename'));
    expect([asForm.status, asJson.status]).toEqual([200, 200]);
    expect(lasting(asJson.body)).toEqual(lasting({ ...asForm.body, results }));
    expect(results.map(({ problem, match }: Json) => problem ?? match)).toEqual([
      true,
      expect.objectContaining({ code: 'unsupported_image_format', status: 415, detected: 'text' }),
      expect.objectContaining({ code: 'missing_field', status: 400 }),
      expect.objectContaining({ code: 'no_face_found', status: 422 }),
      expect.objectContaining({ code: 'image_too_large', status: 413, limit_bytes }),
      expect.objectContaining({ code: 'unsupported_image_format', detected: 'unknown', position: 1 }),
    ]);
    expect(asForm.body.matches).toBe(1);
  });

  test('accepts the escapes and white space that JSON allows', async () => {
    const escaped = one.replaceAll('/', '\\/').replaceAll('+', '\\u002B').replaceAll('=', '\\u003d');
    const body = `\r\n{\t"image1" : "${escaped}" ,"imag\\u0065\\u0032":\n"${three}"\n}\n`;
    const plain = await json({ image1: one, image2: three });
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      expect(lasting((await ask(body, paths.match, type)).body)).toEqual(lasting(plain.body));
    }
  });

  test('warns about unknown members, whatever their values are', async () => {
    const strange = { accuracy_mode: 'fast', é: { a: [1, { b: null }, '"'] }, __proto___: -1.5e-3 };
    const { status, body } = await json({ ...strange, ...pair });
    expect(status).toBe(200);
    const unknown = body.warnings.filter(({ code }: Json) => code === 'unknown_field');
    expect(unknown.map(({ field }: Json) => field)).toEqual(Object.keys(strange));
    expect(body.warnings[0].detail).toContain('advanced');
  });
});

describe('reading a JSON body', () => {
  const expected = 'an image in base64 without white space';
  const summaryOf = (words: RegExp) => ({ detail: expect.stringMatching(words) });

  test.each<[what: string, body: object, code: string, extras: object]>([
    ['a body without images', {}, 'missing_field', { field: 'image1' }],
    ['a body with only one image', { image1: small }, 'missing_field', { field: 'image2' }],
    ['an empty image', { image1: small, image2: '' }, 'missing_field', { field: 'image2' }],
    ['a body with other names', { img1: 'a', images: ['b'] }, 'missing_field', summaryOf(/ img1, images\.$/)],
    ['an image under an unknown name', { ...pair, images: [one] }, 'unknown_file', { field: 'images' }],
    ['a number for an image', { image1: 1 }, 'invalid_field', summaryOf(/ as image1, not 1\.$/)],
    ['a list for an image', { image1: [small] }, 'invalid_field', { field: 'image1', expected }],
    [
      'a blank in the base64',
      { image1: 'AAA ' },
      'invalid_field',
      { field: 'image1', expected, position: 14 },
    ],
    [
      'a blank after the prefix of a data: URL',
      { image1: 'data:;base64,AAA ' },
      'invalid_field',
      { position: 27 },
    ],
    ['base64url', { é: 'é', image1: 'AA-_' }, 'invalid_field', { field: 'image1', position: 21 }],
    [
      'a data: URL without base64',
      { image1: 'data:image/png,AAAA' },
      'invalid_field',
      summaryOf(/: character 15 .* the comma/),
    ],
    ['a list as the body', [pair], 'invalid_field', { field: '', expected: 'an object' }],
  ])('rejects %s', async (_what, body, code, extras) => {
    expectProblem(await json(body), code as 'invalid_field', extras);
  });

  test.each<[what: string, body: object, code: string, extras: object]>([
    ['a single image instead of a list', { image2: small }, 'invalid_field', summaryOf(/"\/9j.{29}"…\.$/)],
    ['an empty list', { image1: small, image2: [] }, 'missing_field', { field: 'image2' }],
    ['a list that is too long', { image2: Array(17).fill('AAAA') }, 'too_many_images', { limit: 16 }],
  ])('rejects %s as image2 of match/many', async (_what, body, code, extras) => {
    expectProblem(await json(body, paths.many), code as 'invalid_field', extras);
  });

  /** test/unit/json-form.test.ts covers valid and invalid JSON. */
  test('rejects text that is not JSON, or has too many members', async () => {
    expectProblem(await ask('{"é":"🙂"}{}'), 'invalid_json', { position: 10 });
    const members = Array.from({ length: 40 }, (_item, i) => `"${i}":0`).join();
    expectProblem(await ask(`{${members}}`), 'invalid_json', { position: 108 });
  });

  test('rejects a duplicate field of any name', async () => {
    const same = await ask('{"image1":"AAAA","imag\\u00651":"AAAA"}');
    expectProblem(same, 'duplicate_field', { field: 'image1' });
    const unknown = await ask('{"a":1,"a":1}');
    expectProblem(unknown, 'duplicate_field', { field: 'a' });
    expect(await server.logged(unknown.body.request_id)).not.toHaveProperty('field');
  });

  test('quotes only a part of a name, without control characters', async () => {
    const name = `\u001b[31m${'é'.repeat(10_000)}`;
    const twice = await ask(`{${JSON.stringify(name)}:1,${JSON.stringify(name)}:1}`);
    expectProblem(twice, 'duplicate_field', { field: `${name.slice(0, 256)}…` });
    expect(twice.body.detail).toBe(`Send \ufffd[31m${'é'.repeat(27)}… once.`);
    const { body } = await json({ ...pair, [name]: 1 });
    expect(body.warnings[0]).toMatchObject({ code: 'unknown_field', field: `${name.slice(0, 256)}…` });
  });

  test('limits an image by its bytes, not by its base64 characters', async () => {
    const padded = (length: number) =>
      base64(Buffer.concat([samples.one, Buffer.alloc(length)]).subarray(0, length));
    expect((await json({ image1: padded(limit_bytes), image2: three })).status).toBe(200);
    for (const text of [padded(limit_bytes + 1), padded(limit_bytes + 1).replaceAll('/', '\\/')]) {
      const body = `{"image1":"${text}","image2":"${three}"}`;
      const rejected = await ask(body);
      expectProblem(rejected, 'image_too_large', { field: 'image1', limit_bytes });
      expect(rejected.body.detail).toContain(`${limit_bytes + 1} bytes and `);
      expect(rejected.body.detail).toContain(`the maximum is ${limit_bytes} bytes`);
    }
  });
});
