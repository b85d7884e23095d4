import { describe, expect, test } from 'vitest';
import { scopes } from '../../src/auth/keys.ts';
import { endpointIds } from '../../src/config/config.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { blank } from '../fixtures/pictures.ts';
import { expectProblem, head, match, paths, RawClient, type Send, send } from './support/client.ts';
import { Home, TestServer } from './support/server.ts';

/** In which order requests are judged, and what is said of keys. contract-errors.test.ts provokes each code by itself. */

const limits = { body: 3_000_000 };
const pdf = Buffer.from('%PDF-1.7\n');

const home = new Home();
const keys = {
  revoked: home.revokedKey(),
  expired: home.key({ expires_in_ms: -1000 }),
  basic: home.key({ scopes: ['match:basic'] }),
  advanced: home.key({ scopes: ['match:advanced'] }),
  poor: home.key({ rate: 0.001, burst: 1 }),
};
/** By the scope that a key lacks; it has all others. */
const without = new Map<string, string>(
  scopes.map((scope) => [scope, home.key({ scopes: scopes.filter((one) => one !== scope) })]),
);
const env = {
  FACEMATCH_MAX_BODY_BYTES: String(limits.body),
  FACEMATCH_ENDPOINTS: endpointIds.join(','),
};
const server = await TestServer.forFile({ env }, home);

describe('the order of judgement', () => {
  // Each row is wrong in everything from its own step on; what is told is the step's.
  const wrongBody: Send = { headers: { 'content-type': 'text/plain' }, body: Buffer.alloc(limits.body + 1) };

  test.each<[what: string, request: () => Send, code: ErrorCode]>([
    ['route before all', () => ({ ...wrongBody, key: null, path: '/nowhere' }), 'not_found'],
    ['method before key', () => ({ ...wrongBody, key: null, method: 'PUT' }), 'method_not_allowed'],
    ['key before length', () => ({ ...wrongBody, key: null }), 'missing_api_key'],
    ['key before scope', () => ({ ...wrongBody, key: 'fm_wrong', path: paths.advanced }), 'invalid_api_key'],
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

describe('a key', () => {
  test.each(endpoints.filter(({ scope }) => scope !== 'none' && scope !== 'any'))(
    'needs its scope for $path',
    async ({ method, path, scope }) => {
      const answer = await send(server, { method, path, key: without.get(scope)! });
      expectProblem(answer, 'forbidden_scope', { required_scope: scope });
    },
  );

  test('unknown, revoked, expired, garbled and doubled ones are all invalid_api_key, word for word', async () => {
    const unknown = server.key.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
    const wrong = [
      ...[unknown, keys.revoked, keys.expired, 'x', 'fm__', `${server.key}, ${server.key}`],
      ...[server.key.toUpperCase(), 'x🔑x'.repeat(9)],
    ];
    const details = new Set<string>();
    for (const key of wrong) {
      const answer = await send(server, {
        path: paths.models,
        method: 'GET',
        key: Buffer.from(key).toString('latin1'),
      });
      expectProblem(answer, 'invalid_api_key');
      details.add(answer.body.detail);
    }
    expect(details.size).toBe(1);
  });
});
