import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasOpenssl } from '../fixtures/certificates.ts';
import { formType, head, paths, photoForm, RawClient } from './support/client.ts';
import type { TestServer } from './support/server.ts';
import { connectTls, nameAt, rawTls, startTls } from './support/tls.ts';

/** The service speaks TLS by itself. What holds for plain connections, the other files of this folder have; here a few of each kind. */

const body = photoForm();
let server: TestServer;
let ca: Buffer;
let url: string;

describe.skipIf(!hasOpenssl)('a server with a certificate', () => {
  beforeAll(async () => {
    ({ server, ca } = await startTls({
      env: {
        FACEMATCH_UPLOAD_TIMEOUT_MS: '1500',
        FACEMATCH_IDLE_TIMEOUT_S: '1',
        FACEMATCH_MAX_UPLOAD_BYTES: '40000000',
        FACEMATCH_AUTH_FAILURE_BURST: '50000',
      },
    }));
    url = `https://localhost:${server.port}${paths.match}`;
  });
  afterAll(() => server.stop());

  test('says https where it listens, and plain http for its admin listener', async () => {
    expect(server.address).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(server.stdout.join()).toContain(`listens on ${server.address} (admin http://`);
    expect((await fetch(`${server.adminAddress}/readyz`)).status).toBe(200);
  });

  test.each([undefined, 'localhost', 'elsewhere.example'])(
    'shows its certificate to who asks for %s',
    async (name) => {
      expect(await nameAt(server.port, name)).toBe('one');
    },
  );

  describe('answers', () => {
    test('undici, on one connection', async () => {
      const dispatcher = new Agent({ connect: { ca }, connections: 1 });
      const headers = {
        'x-api-key': server.key,
        'content-type': formType,
      };
      for (let count = 0; count < 3; count++) {
        const answer = await request(url, { method: 'POST', dispatcher, headers, body });
        expect(await answer.body.json()).toMatchObject({ match: true });
      }
      await dispatcher.close();
    });

    test('a client that offers HTTP/2, as browsers do, in HTTP/1.1', async () => {
      const socket = await connectTls(server.port, {
        ca,
        servername: 'localhost',
        ALPNProtocols: ['h2', 'http/1.1'],
      });
      expect(socket.alpnProtocol).not.toBe('h2');
      const client = new RawClient(socket);
      client.write(head(server, {}, `GET ${paths.models} HTTP/1.1`));
      expect((await client.answer()).status).toBe(200);
      client.leave();
    });
  });

  describe('speaks', () => {
    const versions = (version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') => ({
      minVersion: version,
      maxVersion: version,
      // Else the client itself refuses what is old.
      ciphers: 'DEFAULT:@SECLEVEL=0',
    });

    test.each(['TLSv1.2', 'TLSv1.3'] as const)('%s', async (version) => {
      const socket = await connectTls(server.port, versions(version));
      expect(socket.getProtocol()).toBe(version);
      socket.destroy();
    });

    test.each(['TLSv1', 'TLSv1.1'] as const)('no %s', async (version) => {
      await expect(connectTls(server.port, versions(version))).rejects.toThrow(/protocol version/);
    });

    test('no plain HTTP', async () => {
      const client = new RawClient(connectPlain(server.port, '127.0.0.1'));
      client.write(head(server, {}, 'GET / HTTP/1.1'));
      await client.closed;
      expect(client.text).not.toContain('HTTP/');
      expect((await connectTls(server.port)).destroy()).toBeDefined();
    });
  });

  describe('refuses before the body has come, and is heard by', () => {
    const large = Buffer.alloc(25_000_000, 120);
    const type = { 'content-type': 'application/octet-stream' };

    test.each([
      { what: 'a wrong key and too large a body', key: 'wrong', bytes: large, status: 401 },
      { what: 'too large a body', key: undefined, bytes: large, status: 413 },
    ])("undici and Node's https: $what", async ({ key = server.key, bytes, status }) => {
      const dispatcher = new Agent({ connect: { ca } });
      const headers = { ...type, 'x-api-key': key };
      const answer = await request(url, { method: 'POST', dispatcher, headers, body: bytes });
      expect([answer.statusCode, ((await answer.body.json()) as { status: number }).status]).toEqual([
        status,
        status,
      ]);
      await dispatcher.close();
      const heard = await new Promise((resolve, reject) => {
        const all = { ...headers, 'content-length': bytes.length };
        const outgoing = httpsRequest(url, { method: 'POST', ca, headers: all }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        outgoing.on('error', reject);
        outgoing.end(bytes);
      });
      expect(heard).toBe(status);
    });
  });

  describe('a connection', () => {
    let client: RawClient;
    beforeEach(async () => {
      client = await rawTls(server.port);
      return () => client.socket.destroy();
    });
    const length = (bytes = body.length) => head(server, { 'content-length': String(bytes) });

    test('that breaks in the middle of its body is noticed, and what it held is given back', async () => {
      client.write(Buffer.concat([Buffer.from(length()), body.subarray(0, 50_000)]));
      await server.metricBecomes('facematch_requests_unanswered', 1);
      client.leave();
      await server.metricBecomes('facematch_requests_unanswered', 0);
      expect(await server.metric('facematch_upload_bytes')).toBe(0);
    });
  });

  test('a handshake that never ends holds nothing up, and is ended', async () => {
    const silent = connectPlain(server.port, '127.0.0.1');
    await once(silent, 'connect');
    silent.write(Buffer.from([22, 3, 1, 2, 0, 1]));
    expect(await nameAt(server.port)).toBe('one');
    await once(silent.resume(), 'close');
  });
});

describe.skipIf(!hasOpenssl)('a start with a certificate', () => {
  test('refuses a port that another server has', async () => {
    const first = await startTls();
    await expect(startTls({ env: { FACEMATCH_PORT: String(first.server.port) } })).rejects.toThrow(
      /FACEMATCH_PORT/,
    );
    await first.server.stop();
  });
});
