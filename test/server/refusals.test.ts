import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Fields, match, paths, type Send, send, twoPhotos } from './support/client.ts';
import { samples } from './support/pictures.ts';
import { expectProblem } from './support/problem.ts';
import { Home, TestServer } from './support/server.ts';

/** The contract's error table, as far as routes, keys and forms go. */

let server: TestServer;
let keys: Record<'revoked' | 'expired' | 'basic' | 'advanced' | 'poor', string>;

beforeAll(async () => {
  const home = new Home();
  keys = {
    revoked: home.revokedKey(),
    expired: home.key({ expires_in_ms: -1000 }),
    basic: home.key({ scopes: ['match:basic'] }),
    advanced: home.key({ scopes: ['match:advanced'] }),
    poor: home.key({ rate: 0.001, burst: 1 }),
  };
  server = await TestServer.start({ env: { FACEMATCH_MAX_PARTS: '4' } }, home);
});
afterAll(() => server.stop());

describe('the route', () => {
  test.each<[Send, RegExp]>([
    [{ path: '/', method: 'GET' }, /under \/API\/v1\.0.*POST \/API\/v1\.0\/face\/match\/upload,/],
    [{ path: `${paths.match}/`, method: 'POST' }, /paths are case-sensitive/],
    [{ path: paths.match.toLowerCase(), method: 'POST' }, /GET \/API\/v1\.0\/models/],
    [{ path: '/healthz', method: 'GET' }, /./],
    [{ path: '/metrics', method: 'GET' }, /./],
  ])('%j is not_found with a hint', async (request, hint) => {
    const answer = await send(server, { ...request, key: null });
    expectProblem(answer, 'not_found', { detail: expect.stringMatching(hint) });
  });

  test.each<[method: string, path: string, allow: string]>([
    ['GET', paths.match, 'POST'],
    ['PUT', paths.match, 'POST'],
    ['OPTIONS', paths.advanced, 'POST'],
    ['DELETE', paths.models, 'GET, HEAD'],
    ['POST', paths.models, 'GET, HEAD'],
  ])('%s %s is method_not_allowed', async (method, path, allow) => {
    const answer = await send(server, { method, path, key: null });
    expectProblem(answer, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe(allow);
  });
});

describe('the key', () => {
  const challenge = (answer: Answer) => answer.headers.get('www-authenticate');

  test.each([
    ['none', null],
    ['an empty one', ''],
  ])('%s is missing_api_key', async (_what, key) => {
    const answer = await match(server, twoPhotos(), { key });
    expectProblem(answer, 'missing_api_key');
    expect(challenge(answer)).toBe('ApiKey');
  });

  test('unknown, revoked, expired, garbled and doubled keys are all invalid_api_key, word for word', async () => {
    const unknown = server.key.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
    const wrong = [
      unknown,
      keys.revoked,
      keys.expired,
      'x',
      'fm__',
      `${server.key}, ${server.key}`,
      server.key.toUpperCase(),
      'x🔑x'.repeat(9),
    ];
    const details = new Set<string>();
    for (const key of wrong) {
      const answer = await send(server, {
        path: paths.models,
        method: 'GET',
        key: Buffer.from(key).toString('latin1'),
      });
      expectProblem(answer, 'invalid_api_key');
      expect(challenge(answer)).toBe('ApiKey');
      details.add(answer.body.detail);
    }
    expect(details.size).toBe(1);
  });

  test.each([
    ['basic', paths.advanced, 'match:advanced'],
    ['advanced', paths.match, 'match:basic'],
  ] as const)('a key with the scope match:%s on the other endpoint is forbidden_scope', async (name, path, required_scope) => {
    const answer = await match(server, twoPhotos(), { key: keys[name], path });
    expectProblem(answer, 'forbidden_scope', { required_scope });
  });

  test('a key beyond its rate is rate_limit_exceeded with Retry-After and RateLimit', async () => {
    const get = () => send(server, { path: paths.models, method: 'GET', key: keys.poor });
    const first = await get();
    expect(first.status).toBe(200);
    expect(first.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    const second = await get();
    expectProblem(second, 'rate_limit_exceeded');
    const wait = Number(second.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(second.headers.get('ratelimit')).toBe(`"default";r=0;t=${wait}`);
    expect(second.headers.get('ratelimit-policy')).toMatch(/^"default";q=1;w=\d+$/);
  });
});

describe('the form', () => {
  const picture = { image1: samples.one };
  const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
  const part = '--b\r\nContent-Disposition: form-data; name="image1"\r\n\r\nx\r\n';

  test.each<[what: string, body: string, headers: Record<string, string>]>([
    ['an empty body', '', multipart],
    ['no boundary in it', 'image1=x&image2=y', multipart],
    ['an end before the final boundary', part, multipart],
    ['an end inside a header', '--b\r\nContent-Disp', multipart],
    ['a part without a name', '--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n', multipart],
    ['more parts than allowed', `${part.repeat(5)}--b--\r\n`, multipart],
    ['a part with too long headers', `--b\r\nX: ${'y'.repeat(9000)}\r\n\r\nx\r\n--b--\r\n`, multipart],
    ['a Content-Type without a boundary', `${part}--b--\r\n`, { 'content-type': 'multipart/form-data' }],
    [
      'a boundary of 71 characters',
      part,
      { 'content-type': `multipart/form-data; boundary=${'b'.repeat(71)}` },
    ],
  ])('%s is invalid_multipart', async (_what, body, headers) => {
    expectProblem(await send(server, { body, headers }), 'invalid_multipart');
  });

  test.each<[what: string, fields: Fields, field: string]>([
    ['no field at all', { colour: 'x' }, 'image1'],
    ['no image1', { image2: samples.one }, 'image1'],
    ['no image2', picture, 'image2'],
    ['an empty image1', { image1: new Uint8Array(), image2: samples.one }, 'image1'],
    ['an empty image2', { ...picture, image2: '' }, 'image2'],
  ])('%s is missing_field', async (_what, fields, field) => {
    expectProblem(await match(server, fields), 'missing_field', { field });
  });

  test.each<[field: string, value: string]>([
    ['threshold_percent', '100.1'],
    ['threshold_percent', '-0.1'],
    ['threshold_percent', '1e1'],
    ['threshold_percent', ''],
    ['threshold_percent', 'NaN'],
    ['threshold_percent', ' 1'],
    ['threshold_percent', '٣'],
    ['threshold_percent', '1'.repeat(1025)],
    ['image1_face_index', '-2'],
    ['image1_face_index', '1.5'],
    ['image1_face_index', '1e309'],
    ['image2_face_index', 'first'],
    ['image2_face_index', '9'.repeat(1000)],
    ['accuracy_mode', 'best'],
    ['accuracy_mode', 'FAST'],
    ['use_heuristic_fallback', 'yes'],
    ['auto_pair_best', '1'],
    ['reject_low_quality', 'TRUE'],
    ['min_det_score', '1.01'],
    ['min_det_score', 'Infinity'],
  ])('%s with the value %j is invalid_field', async (field, value) => {
    const answer = await match(server, { ...twoPhotos(), [field]: value }, { path: paths.advanced });
    expectProblem(answer, 'invalid_field', { field, expected: expect.any(String) });
  });

  test.each(['image1', 'image2', 'threshold_percent'])('%s sent twice is duplicate_field', async (field) => {
    const fields: Fields = { ...twoPhotos(), threshold_percent: '70' };
    const value = fields[field] as string;
    expectProblem(await match(server, { ...fields, [field]: [value, value] }), 'duplicate_field', { field });
  });
});
