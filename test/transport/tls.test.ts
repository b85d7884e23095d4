import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasOpenssl } from '../fixtures/credentials.ts';
import { connectTls, formType, paths, photoForm, RawClient } from '../server/support/client.ts';
import { TestServer } from '../server/support/server.ts';

/**
 * Tests a server that uses TLS itself. The other files of this folder test plain connections; this file repeats a few
 * tests of each kind.
 */

let server: TestServer;
let ca: Buffer;
let url: string;

describe.skipIf(!hasOpenssl)('a server with a certificate', () => {
  beforeAll(async () => {
    ({ server, ca } = await TestServer.startTls({
      FACEMATCH_UPLOAD_TIMEOUT_MS: '1500',
      FACEMATCH_UPLOAD_IDLE_TIMEOUT_S: '1',
      FACEMATCH_UPLOAD_MEMORY_BYTES: '40000000',
      FACEMATCH_AUTH_FAILURE_BURST: '50000',
    }));
    url = `https://localhost:${server.port}${paths.match}`;
  });
  afterAll(() => server.stop());

  test('prints an https URL, and a plain http URL for its admin listener', async () => {
    expect(server.origin).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(server.stdout.join()).toContain(`listens on ${server.origin} (admin http://`);
    expect((await fetch(`${server.adminOrigin}/readyz`)).status).toBe(200);
  });

  test('sends its certificate for any server name that the client requests', async () => {
    for (const servername of ['localhost', 'elsewhere.example']) {
      const socket = await connectTls(server.port, { servername });
      expect(socket.getPeerCertificate().subject.CN).toBe('one');
      socket.destroy();
    }
  });

  test('serves undici on one connection', async () => {
    const dispatcher = new Agent({ connect: { ca }, connections: 1 });
    const headers = { 'x-api-key': server.key, 'content-type': formType };
    for (let count = 0; count < 3; count++) {
      const received = await request(url, { method: 'POST', dispatcher, headers, body: photoForm() });
      expect(await received.body.json()).toMatchObject({ match: true });
    }
    await dispatcher.close();
  });

  test('responds in HTTP/1.1 to a client that offers HTTP/2, as browsers do', async () => {
    const offered = { ca, servername: 'localhost', ALPNProtocols: ['h2', 'http/1.1'] };
    const socket = await connectTls(server.port, offered);
    expect(socket.alpnProtocol).not.toBe('h2');
    const client = new RawClient(socket);
    client.write(server.getRequest());
    expect((await client.response()).status).toBe(200);
    client.leave();
  });

  describe('TLS versions and ciphers', () => {
    const versions = (version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') => ({
      minVersion: version,
      maxVersion: version,
      // Otherwise the client itself would reject old versions.
      ciphers: 'DEFAULT:@SECLEVEL=0',
    });

    test.each(['TLSv1.2', 'TLSv1.3'] as const)('supports %s', async (version) => {
      const socket = await connectTls(server.port, versions(version));
      expect(socket.getProtocol()).toBe(version);
      socket.destroy();
    });

    test.each(['TLSv1', 'TLSv1.1'] as const)('rejects %s', async (version) => {
      await expect(connectTls(server.port, versions(version))).rejects.toThrow(/protocol version/);
    });

    test('rejects plain HTTP', async () => {
      const client = new RawClient(connectPlain(server.port, '127.0.0.1'));
      client.write(server.getRequest('/'));
      await client.closed;
      expect(client.text).not.toContain('HTTP/');
      expect((await connectTls(server.port)).destroy()).toBeDefined();
    });
  });

  test.each([
    ['an invalid key', 'wrong', 401],
    ['a body that is too large', undefined, 413],
  ])(
    "delivers a rejection to undici and Node's https while they send the body: %s",
    async (_what, key, status) => {
      const bytes = Buffer.alloc(25_000_000, 120);
      const headers = { 'x-api-key': key ?? server.key, 'content-type': 'application/octet-stream' };
      const dispatcher = new Agent({ connect: { ca } });
      const received = await request(url, { method: 'POST', dispatcher, headers, body: bytes });
      expect(received.statusCode).toBe(status);
      expect(await received.body.json()).toMatchObject({ status });
      await dispatcher.close();
      const all = { ...headers, 'content-length': bytes.length };
      const outgoing = httpsRequest(url, { method: 'POST', ca, headers: all });
      // After the response, both sides close, and TLS may still have to send to a closed connection.
      outgoing.on('error', () => {});
      outgoing.end(bytes);
      const [response] = await once(outgoing, 'response');
      expect(response.resume().statusCode).toBe(status);
    },
  );

  test('closes a connection whose handshake never ends, without blocking others', async () => {
    const silent = connectPlain(server.port, '127.0.0.1');
    await once(silent, 'connect');
    silent.write(Buffer.from([22, 3, 1, 2, 0, 1]));
    (await connectTls(server.port)).destroy();
    await once(silent.resume(), 'close');
  });
});
