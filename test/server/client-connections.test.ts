import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clients, missing, runClient } from './support/client-programs.ts';
import { answer, proxy, reset } from './support/proxy.ts';
import { TestServer } from './support/server.ts';

/** The programs of docs/clients where the way to the server is bad. */

/** As the programs have it. */
const maxAttempts = 4;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server.stop());

// Each counts connections of its own, and so they may wait side by side.
describe.concurrent.each(clients)('%s', (_name, command, needs) => {
  const it = test.skipIf(missing.has(needs));

  it('comes again when the connection is reset before an answer', async () => {
    const through = await proxy(server.port, (socket, count) => count === 1 && reset(socket));
    const { code, stdout, stderr } = await runClient(command, { url: through.url, key: server.key });
    through.close();
    expect(stderr).toMatch(/^.+; waiting \d+ ms\n$/);
    expect([code, stdout.split(':')[0]]).toEqual([0, 'match']);
    expect(through.connections).toBe(2);
  });

  it('gives up when every connection is reset', async () => {
    const through = await proxy(server.port, reset);
    const { code, stdout, stderr } = await runClient(command, { url: through.url, key: server.key });
    through.close();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(new RegExp(`error: .*; gave up after ${maxAttempts} attempts\n$`));
    expect(through.connections).toBe(maxAttempts);
  });

  it('gives up when nobody listens', async () => {
    const closed = await proxy(server.port, reset);
    closed.close();
    const { code, stderr } = await runClient(command, { url: closed.url, key: server.key });
    expect(code).toBe(2);
    expect(stderr.match(/; waiting/g)).toHaveLength(maxAttempts - 1);
  });

  it.each([
    [
      '502 of a gateway',
      'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 12\r\n\r\n<h1>Oops</h1',
      /error: 502.*/,
    ],
    ['200 that is no answer', 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n<h1>Hello</h', /error: ./],
  ])('takes a %s for an error, and asks once', async (_what, text, words) => {
    const through = await proxy(server.port, (socket) => answer(socket, text));
    const { code, stdout, stderr } = await runClient(command, { url: through.url, key: server.key });
    through.close();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(through.connections).toBe(1);
  });
});
