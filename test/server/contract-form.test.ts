import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { boundary, type Fields, formBytes, match, paths, send, twoPhotos } from './support/client.ts';
import { expectProblem } from './support/problem.ts';
import { TestServer } from './support/server.ts';

/** The contract's tables of fields, limits and endpoints, row by row, each against a real port with the limits as they come. */

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server.stop());

const photos = (fields: Fields = {}) => match(server, { ...twoPhotos(), ...fields });

/** Each field with a value that is right and one that is wrong by a little; those of `advanced` are unknown to basic. */
const fields: readonly [field: string, right: string, wrong: string, where: 'both' | 'advanced'][] = [
  ['threshold_percent', '99.95', '100.01', 'both'],
  ['image1_face_index', '-1', '-2', 'advanced'],
  ['image2_face_index', '0', '0.5', 'advanced'],
  ['accuracy_mode', 'fast', 'Fast', 'advanced'],
  ['use_heuristic_fallback', 'false', 'no', 'advanced'],
  ['min_det_score', '0.5', '1.01', 'advanced'],
  ['auto_pair_best', 'true', '', 'advanced'],
  ['reject_low_quality', 'true', '1', 'advanced'],
];

describe('fields', () => {
  test.each(fields)('%s may be %j and not %j (%s)', async (field, right, wrong, where) => {
    const advanced = { path: paths.advanced };
    expect((await match(server, { ...twoPhotos(), [field]: right }, advanced)).status).toBe(200);
    expectProblem(await match(server, { ...twoPhotos(), [field]: wrong }, advanced), 'invalid_field', {
      field,
    });
    const basic = await photos({ [field]: wrong });
    if (where === 'both') expectProblem(basic, 'invalid_field', { field });
    else expect(basic.body.warnings).toMatchObject([{ code: 'unknown_field', field }]);
  });
});

describe('limits', () => {
  const extra = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, 'y']));

  test('a form of 16 parts is read, one of 17 is not', async () => {
    expect((await photos(extra(14))).status).toBe(200);
    expectProblem(await photos(extra(15)), 'invalid_multipart');
  });

  test("a part's headers may have nearly 8 KiB, and not more", async () => {
    const ask = (length: number) => {
      const parts = Object.entries(twoPhotos()).map(([name, body]) => {
        return { name, filename: 'x'.repeat(length), body: body as Uint8Array };
      });
      const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
      return send(server, { body: formBytes(parts), headers });
    };
    expect((await ask(8000)).status).toBe(200);
    expectProblem(await ask(8192), 'invalid_multipart');
  });
});

test.each(['/healthz', '/readyz', '/metrics'])('%s is on the admin listener only', async (path) => {
  expect((await fetch(server.adminAddress + path)).status).toBe(200);
  expectProblem(await send(server, { path, method: 'GET', key: null }), 'not_found');
});
