import { isIP } from 'node:net';
import { describe, expect, test } from 'vitest';
import { addressText, framingOf, newRequestId, type Request, requestId } from '../../src/http/request.ts';
import { Cors } from '../../src/http/responses.ts';
import { Router, routes } from '../../src/http/routes.ts';

describe('requestId', () => {
  test.each(['a', 'A-b_c.9', 'x'.repeat(128)])("the client's own is kept: %s", (id) => {
    expect(requestId(id)).toBe(id);
  });

  test.each([undefined, '', 'x'.repeat(129), 'a b', 'a,b', 'a/b', 'é', 'a\n', '"', '{}', '%0d'])(
    '%j is replaced',
    (id) => {
      expect(requestId(id)).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    },
  );

  test('ids of one moment differ', () => {
    expect(new Set(Array.from({ length: 1000 }, () => newRequestId(5))).size).toBe(1000);
  });

  test('ids sort by time', () => {
    const [early, late] = [newRequestId(1_000_000), newRequestId(1_000_001)];
    expect(early < late).toBe(true);
    expect(newRequestId(2 ** 48 - 1)).toMatch(/^7ZZZZZZZZZ/);
  });
});

describe('framingOf', () => {
  test.each<[Record<string, string>, string]>([
    [{}, 'none'],
    [{ 'content-length': '0' }, 'none'],
    [{ 'content-length': '1' }, 'length'],
    [{ 'content-length': '999999999' }, 'length'],
    [{ 'content-length': '1000000000' }, 'unclear'],
    [{ 'content-length': '5,6' }, 'unclear'],
    [{ 'content-length': '5,5' }, 'unclear'],
    [{ 'content-length': '-5' }, 'unclear'],
    [{ 'content-length': '+5' }, 'unclear'],
    [{ 'content-length': '0x5' }, 'unclear'],
    [{ 'content-length': '' }, 'unclear'],
    [{ 'transfer-encoding': 'chunked' }, 'chunked'],
    [{ 'transfer-encoding': 'Chunked' }, 'chunked'],
    [{ 'transfer-encoding': 'gzip, chunked' }, 'unclear'],
    [{ 'transfer-encoding': 'identity' }, 'unclear'],
    [{ 'transfer-encoding': 'chunked,chunked' }, 'unclear'],
    [{ 'transfer-encoding': 'chunked', 'content-length': '5' }, 'unclear'],
  ])('%j is %s', (headers, framing) => {
    expect(framingOf(new Map(Object.entries(headers)))).toBe(framing);
  });
});

describe('Cors', () => {
  const request = (method: string, headers: Record<string, string>) =>
    ({ method, headers: new Map(Object.entries(headers)) }) as unknown as Request;
  test.each(['https://b.example', 'null', 'https://a.example.evil', 'http://a.example'])(
    '%s is not allowed',
    (origin) => {
      const cors = new Cors(['https://a.example']);
      expect(cors.headers(request('GET', { origin }))).toEqual([['Vary', 'Origin']]);
      expect(
        cors.preflight(request('OPTIONS', { origin, 'access-control-request-method': 'POST' }), ['POST']),
      ).toBeUndefined();
    },
  );

  test('a preflight is one only when it names a method, and only where there is a route', () => {
    const cors = new Cors(['*']);
    const origin = 'https://a.example';
    expect(cors.preflight(request('OPTIONS', { origin }), ['POST'])).toBeUndefined();
    expect(
      cors.preflight(request('OPTIONS', { origin, 'access-control-request-method': 'POST' }), []),
    ).toBeUndefined();
    expect(
      cors.preflight(request('OPTIONS', { origin, 'access-control-request-method': 'POST' }), ['POST']),
    ).toContainEqual(['Access-Control-Allow-Methods', 'POST']);
  });
});

describe('addressText', () => {
  test.each<[string, number[]]>([
    ['127.0.0.1', [127, 0, 0, 1]],
    ['255.255.255.255', [255, 255, 255, 255]],
    ['0:0:0:0:0:0:0:1', [...new Array<number>(15).fill(0), 1]],
    ['2001:db8:0:0:0:0:ab:cd00', [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xab, 0xcd, 0]],
    ['0:0:0:0:0:ffff:c000:201', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]],
  ])('%s', (text, bytes) => {
    expect(addressText(Uint8Array.from(bytes))).toBe(text);
    expect(isIP(text)).toBe(bytes.length === 4 ? 4 : 6);
  });

  test.each([0, 3, 5, 15, 17])('%i bytes are no address', (length) => {
    expect(addressText(new Uint8Array(length))).toBe('');
  });
});

describe('Router', () => {
  const router = new Router(routes, ['match', 'models']);
  const code = (method: string, path: string) => {
    try {
      return router.find(method, path).endpoint;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test.each([
    ['POST', '/API/v1.0/face/match/upload', 'match'],
    ['GET', '/API/v1.0/models', 'models'],
    ['HEAD', '/API/v1.0/models', 'models'],
    ['HEAD', '/API/v1.0/face/match/upload', 'method_not_allowed'],
    ['GET', '/API/v1.0/face/match/upload', 'method_not_allowed'],
    ['POST', '/API/v1.0/face/match/upload/advanced', 'endpoint_disabled'],
    ['GET', '/API/v1.0/face/match/upload/advanced', 'endpoint_disabled'],
    ['POST', '/API/v1.0/face/match/upload/', 'not_found'],
    ['POST', '/api/v1.0/face/match/upload', 'not_found'],
    ['POST', '/API/v1.0/face/match/%75pload', 'not_found'],
    ['POST', '//API/v1.0/face/match/upload', 'not_found'],
    ['POST', '/API/v1.1/face/match/upload', 'not_found'],
    ['GET', '/metrics', 'not_found'],
    ['GET', '/healthz', 'not_found'],
    ['GET', '/__proto__', 'not_found'],
    ['GET', '/', 'not_found'],
  ])('%s %s is %s', (method, path, expected) => {
    expect(code(method, path)).toBe(expected);
  });

  test('the hint of not_found names the prefix and the routes that are open, and no others', () => {
    let detail = '';
    try {
      router.find('GET', '/');
    } catch (error) {
      detail = (error as { extras: { detail: string } }).extras.detail;
    }
    expect(detail).toContain('under /API/v1.0');
    expect(detail).toContain('POST /API/v1.0/face/match/upload,');
    expect(detail).not.toContain('advanced');
  });

  test('Allow lists HEAD wherever there is GET', () => {
    expect(router.methods('/API/v1.0/models')).toEqual(['GET', 'HEAD']);
    expect(router.methods('/nowhere')).toEqual([]);
  });
});
