import { describe, expect, test } from 'vitest';
import { scopes } from '../../src/auth/keys.ts';
import { endpointIds } from '../../src/config/config.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { revokeKey } from '../fixtures/credentials.ts';
import { blank } from '../fixtures/images.ts';
import {
  chunk,
  expectProblem,
  formBytes,
  formType,
  lastChunk,
  paths,
  RawClient,
} from '../server/support/client.ts';
import { Home, idOf, TestServer } from '../server/support/server.ts';

/**
 * Tests the order of the checks, the responses about keys, and body sizes at the limit and beyond it. contract.test.ts
 * tests each code separately.
 */

const maxBody = 3_000_000;

const home = new Home();
const keys = {
  revoked: home.key(),
  expired: home.key({ expires_in_ms: -1000 }),
  basic: home.key({ scopes: ['match:basic'] }),
  limited: home.key({ rate: 0.001, burst: 1 }),
};
revokeKey(home.keysFile, idOf(keys.revoked));
/** Keys by the one scope that each lacks. */
const without = new Map<string, string>(
  scopes.map((scope) => [scope, home.key({ scopes: scopes.filter((one) => one !== scope) })]),
);
const env = {
  FACEMATCH_MAX_BODY_BYTES: String(maxBody),
  FACEMATCH_ENDPOINTS: endpointIds.join(','),
};
const server = await TestServer.forFile({ env }, home);

describe('the server', () => {
  // Each row fails at its step and at all later steps. The response reports the first failure, before the body is sent.
  const wrong = { 'content-type': 'text/plain', 'content-length': String(maxBody + 1) };
  const keyless = { ...wrong, 'x-api-key': undefined };
  const advanced = `POST ${paths.advanced} HTTP/1.1`;
  test.each<[what: string, headers: Record<string, string | undefined>, code: ErrorCode, line?: string]>([
    ['route before everything', keyless, 'not_found', 'POST /nowhere HTTP/1.1'],
    ['method before key', keyless, 'method_not_allowed', `PUT ${paths.match} HTTP/1.1`],
    ['key before length', keyless, 'missing_api_key'],
    ['key before scope', { ...wrong, 'x-api-key': 'fm_wrong' }, 'invalid_api_key', advanced],
    ['scope before rate and length', { ...wrong, 'x-api-key': keys.basic }, 'forbidden_scope', advanced],
    ['rate before length', { ...wrong, 'x-api-key': keys.limited }, 'rate_limit_exceeded'],
    ['length before type', wrong, 'body_too_large'],
    ['type before form', { ...wrong, 'content-length': '100000' }, 'unsupported_media_type'],
  ])('checks the %s', async (_what, headers, code, line) => {
    // Uses the limited key's only token, if it is left.
    await server.getModels({ key: keys.limited });
    expectProblem(await server.sendRaw(server.requestHeaders(headers, line)), code);
  });

  test('checks the form before the images, and the images before faces', async () => {
    const broken = { image1: await blank(64, 64, 'png'), image2: Buffer.from('%PDF-1.7\n') };
    expectProblem(await server.match({ ...broken, threshold_percent: 'x' }), 'invalid_field');
    expectProblem(await server.match(broken), 'unsupported_image_format', { field: 'image2' });
  });
});

describe('a key', () => {
  test.each(endpoints.filter(({ scope }) => scope !== 'none' && scope !== 'any'))(
    'needs the scope of $path',
    async ({ method, path, scope }) => {
      const response = await server.send({ method, path, key: without.get(scope)! });
      expectProblem(response, 'forbidden_scope', { required_scope: scope });
    },
  );

  test('gets the same invalid_api_key response if it is unknown, revoked, expired, malformed or duplicate', async () => {
    const unknown = server.key.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
    const wrong = [
      ...[unknown, keys.revoked, keys.expired, 'x', 'fm__', `${server.key}, ${server.key}`],
      ...[server.key.toUpperCase(), 'x🔑x'.repeat(9)],
    ];
    const details = new Set<string>();
    for (const key of wrong) {
      const response = await server.getModels({ key: Buffer.from(key).toString('latin1') });
      expectProblem(response, 'invalid_api_key');
      details.add(response.body.detail);
    }
    expect(details.size).toBe(1);
  });
});

describe('body sizes', () => {
  const image = (bytes: number) => Buffer.alloc(bytes, 120);

  test.each(['99999999999', `1${'0'.repeat(100)}`])(
    'rejects a length of %s as body_too_large',
    async (length) => {
      const { body } = await server.sendRaw(server.requestHeaders({ 'content-length': length }));
      expect(body).toMatchObject({ status: 413, code: 'body_too_large' });
    },
  );

  test('reads a body of exactly the limit, and checks its contents', async () => {
    const frame = formBytes({ filler: '' });
    const body = formBytes({ filler: 'x'.repeat(maxBody - frame.length) });
    expect(body.length).toBe(maxBody);
    const response = await server.send({ body, headers: { 'content-type': formType } });
    expectProblem(response, 'missing_field', { field: 'image1' });
  });

  test('allows a JSON body a third more, plus 64 KiB, so that the same images fit', async () => {
    const max = (maxBody / 3) * 4 + 64 * 1024;
    const headers = { 'content-type': 'application/json' };
    const frame = '{"filler":""}';
    const body = frame.replace('""', `"${'A'.repeat(max - frame.length)}"`);
    expectProblem(await server.send({ body, headers }), 'missing_field', { field: 'image1' });
    const rejected = await server.send({ body: `${body} `, headers });
    expectProblem(rejected, 'body_too_large', { limit_bytes: max });
  });

  test('rejects a chunked body as body_too_large at the first byte beyond the limit', async () => {
    const client = new RawClient(server.port);
    client.write(server.chunkedHeaders());
    client.write(chunk(image(maxBody)));
    client.write(chunk(image(1)));
    expectProblem(await client.response(), 'body_too_large', { limit_bytes: maxBody });
    client.write(lastChunk);
    await client.closed;
  });
});

test.each<[what: string, headers: Record<string, string | undefined>, problem: object]>([
  ['a content coding', { 'content-encoding': 'gzip' }, { code: 'unsupported_media_type' }],
  ['no Content-Type', { 'content-type': undefined }, { code: 'unsupported_media_type' }],
  ['two Content-Types', { 'Content-Type': 'x' }, { detail: 'Send one Content-Type header.' }],
  [
    'two Content-Types of JSON',
    { 'content-type': 'application/json; charset=utf-8', 'Content-Type': 'application/json' },
    { code: 'invalid_json', detail: 'Send one Content-Type header.', position: 0 },
  ],
])('rejects a body with %s', async (_what, headers, problem) => {
  const { body } = await server.sendRaw(`${server.requestHeaders({ ...headers, 'content-length': '1' })}x`);
  expect(body).toMatchObject(problem);
});

test('ends a search that takes too long, and reports it', async () => {
  const impatient = await TestServer.forTest({ env: { FACEMATCH_IMAGE_TIMEOUT_MS: '30' } });
  const image1 = await blank(900, 900, 'png');
  const response = await impatient.match({ image1, image2: image1 });
  const detail = expect.stringMatching(/The search for faces in image1 and image2 reached its limit/);
  expectProblem(response, 'no_face_found', { detail });
});
