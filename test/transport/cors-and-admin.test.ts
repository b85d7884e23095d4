import { describe, expect, test } from 'vitest';
import { match, paths, RawClient, send, twoPhotos } from '../server/support/client.ts';
import { readiness, TestServer } from '../server/support/server.ts';

/** Pages of other origins; and the listener that is for operators alone. */

const server = await TestServer.forFile({
  env: { FACEMATCH_CORS_ORIGINS: 'https://app.example', FACEMATCH_ADMIN_HOSTS: 'server,Admin.example' },
});

describe('a page of another origin', () => {
  const preflight = (origin: string, asked?: string) =>
    send(server, {
      method: 'OPTIONS',
      path: paths.match,
      key: null,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        ...(asked !== undefined && { 'access-control-request-headers': asked }),
      },
    });
  const own = 'x-api-key, authorization, x-request-id, traceparent, content-type';

  test('may ask before it sends', async () => {
    const { status, headers } = await preflight('https://app.example');
    expect(status).toBe(204);
    expect(Object.fromEntries(headers)).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': own,
      vary: 'Access-Control-Request-Headers, Origin',
    });
  });

  const longest = `${Array.from({ length: 256 }, (_item, at) => `x-header-${1000 + at}-x`).join()}y`;
  test.each([
    ['what its libraries add', 'baggage,cache-control,tracestate,x-api-key,x-requested-with'],
    ['names with blanks around them, or none between commas', " x-a ,, X_b!#$%&'*+.^`|~9\t,"],
    ['as much as is taken', longest],
    ['more than is taken', `${longest}x`, own],
    ['what is no name', 'x-api-key,x a', own],
    ['what is no name anywhere', 'x-api-key,"x"', own],
    ['nothing', ' ,', own],
  ])('is allowed to send the headers it asks for: %s', async (_what, asked, expected = asked) => {
    const { status, headers } = await preflight('https://app.example', asked);
    const names = expected.split(',').map((name) => name.trim());
    expect([status, headers.get('access-control-allow-headers')]).toEqual([
      204,
      names.filter(Boolean).join(', '),
    ]);
  });

  test('reads answers and refusals alike', async () => {
    const headers = { origin: 'https://app.example' };
    const answers = [
      await match(server, twoPhotos(), { headers }),
      await match(server, twoPhotos(), { headers, key: null }),
      await send(server, { path: '/nowhere', headers }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 404]);
    for (const answer of answers) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
      expect(answer.headers.get('access-control-expose-headers')).toContain('RateLimit');
    }
  });

  test('that is not allowed gets no leave, and a plain 405 for its question', async () => {
    const answer = await preflight('https://evil.example', 'x-requested-with');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    expect(answer.headers.get('access-control-allow-headers')).toBeNull();
  });

  test('is not thought of by answers to requests without an origin, but caches are told', async () => {
    const { headers } = await match(server, twoPhotos());
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('vary')).toBe('Origin');
  });
});

describe('the admin listener', () => {
  const get = (path: string, method = 'GET') => fetch(server.adminAddress + path, { method });

  test('says that it is alive and ready', async () => {
    expect(await server.probe('/healthz')).toEqual([200, { status: 'alive' }]);
    expect(await server.probe()).toEqual([200, readiness('ready')]);
  });

  test('answers HEAD, refuses other methods and paths with problems', async () => {
    expect((await get('/healthz', 'HEAD')).status).toBe(200);
    const post = await get('/healthz', 'POST');
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const nowhere = await get('/API/v1.0/models');
    expect(nowhere.headers.get('content-type')).toBe('application/problem+json');
    expect(await nowhere.json()).toMatchObject({ status: 404, code: 'not_found' });
  });

  const own = ['127.0.0.1:9090', '10.1.2.3', '[::1]:9090', 'LOCALHOST.:80', 'server:9090', 'admin.example'];
  const evil = ['evil.example:9090', 'evil.example', 'server.evil.example', '127.0.0.1.evil.example'];
  test.each([...own, ...evil, '::1', '127.1', '['])('is asked for the host %s', async (host) => {
    const client = new RawClient(Number(new URL(server.adminAddress).port));
    client.write(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    const { status, body } = await client.answer();
    expect(status).toBe(own.includes(host) ? 200 : 403);
    if (status === 403) expect(body.detail).toContain('FACEMATCH_ADMIN_HOSTS');
    client.leave();
  });
});
