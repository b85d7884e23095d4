import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/errors.ts';
import { head, match, paths, RawClient, type Send, send, twoPhotos } from './support/client.ts';
import { blank } from './support/pictures.ts';
import { expectProblem } from './support/problem.ts';
import { Home, TestServer } from './support/server.ts';

/** A request that is wrong in many ways is told the first of them, in the contract's order. */

const limits = { body: 3_000_000 };
const pdf = Buffer.from('%PDF-1.7\n');

let server: TestServer;
let keys: Record<'basic' | 'advanced' | 'poor', string>;

beforeAll(async () => {
  const home = new Home();
  keys = {
    basic: home.key({ scopes: ['match:basic'] }),
    advanced: home.key({ scopes: ['match:advanced'] }),
    poor: home.key({ rate: 0.001, burst: 1 }),
  };
  server = await TestServer.start({ env: { FACEMATCH_MAX_BODY_BYTES: String(limits.body) } }, home);
});
afterAll(() => server.stop());

describe('the order of judgement', () => {
  // Each row is wrong in everything from its own rung down; what is told is the rung's.
  const bad = {
    route: { path: '/nowhere' },
    method: { method: 'PUT' },
    noKey: { key: null },
    wrongKey: { key: 'fm_wrong' },
  } as const;
  const wrongBody: Send = { headers: { 'content-type': 'text/plain' }, body: Buffer.alloc(limits.body + 1) };

  test.each<[what: string, request: () => Send, code: ErrorCode]>([
    ['route before all', () => ({ ...wrongBody, ...bad.noKey, ...bad.route }), 'not_found'],
    ['method before key', () => ({ ...wrongBody, ...bad.noKey, ...bad.method }), 'method_not_allowed'],
    ['key before length', () => ({ ...wrongBody, ...bad.noKey }), 'missing_api_key'],
    ['key before scope', () => ({ ...wrongBody, ...bad.wrongKey, path: paths.advanced }), 'invalid_api_key'],
    [
      'scope before rate and length',
      () => ({ ...wrongBody, key: keys.basic, path: paths.advanced }),
      'forbidden_scope',
    ],
    ['rate before length', () => ({ ...wrongBody, key: keys.poor }), 'rate_limit_exceeded'],
    ['length before type', () => wrongBody, 'body_too_large'],
    [
      'type before form',
      () => ({ headers: { 'content-type': 'text/plain' }, body: 'x' }),
      'unsupported_media_type',
    ],
  ])('%s', async (_what, request, code) => {
    // The poor key's one token, should it still be there.
    await send(server, { path: paths.models, method: 'GET', key: keys.poor });
    expectProblem(await send(server, request()), code);
  });

  test('form before pictures, pictures before faces', async () => {
    const broken = { image1: pdf, image2: await blank(64, 64, 'png') };
    expectProblem(await match(server, { ...broken, threshold_percent: 'x' }), 'invalid_field');
    expectProblem(await match(server, broken), 'unsupported_image_format', { field: 'image1' });
  });

  test('what the head decides is told before the body is sent', async () => {
    for (const [headers, code] of [
      [{ 'x-api-key': undefined }, 'missing_api_key'],
      [{ 'x-api-key': 'wrong' }, 'invalid_api_key'],
      [{ 'x-api-key': keys.advanced }, 'forbidden_scope'],
      [{ 'content-type': 'text/plain' }, 'unsupported_media_type'],
    ] as const) {
      const client = new RawClient(server.port);
      client.write(head(server, { ...headers, 'content-length': '100000' }));
      expect((await client.answer()).body.code).toBe(code);
      client.leave();
    }
  });
});

test('after all of this the server still answers', async () => {
  expect((await match(server, twoPhotos())).status).toBe(200);
  expect(await server.metric('facematch_requests_unanswered')).toBe(0);
  expect(await server.metric('facematch_upload_bytes')).toBe(0);
});
