import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Exchange } from '../../src/http/exchange.ts';
import { Connections } from '../../src/http/listening.ts';
import { UnreadResponses } from '../../src/http/unread.ts';
import { chooseTransport } from '../../src/server/listeners.ts';
import { makePair } from '../fixtures/credentials.ts';
import { connectTls } from '../server/support/client.ts';
import { transport } from '../server/support/server.ts';
import { newFolder } from '../support/folder.ts';

/**
 * Tests responses that clients do not read, or read late, with listeners of this process whose responses are larger
 * than the server's.
 */

const MiB = 1024 * 1024;
/** Exceeds the kernel's buffers for a connection. */
const size = 12 * MiB;
const document = Buffer.alloc(size, 'document\n');

describe.each([
  ['TCP', undefined],
  ['TLS', makePair(newFolder(), 'one')],
])('over %s', async (_name, certificate) => {
  const unread = new UnreadResponses(3 * size);
  const connections = new Connections(1000);
  const served: string[] = [];
  const listening = await chooseTransport(transport).open({
    host: '127.0.0.1',
    port: 0,
    variables: '',
    certificate,
    limits: { upload_timeout_ms: 30_000, idle_ms: 10_000, drain_bytes: 2 * MiB, unread },
    connections,
    keep_alive_ms: 10_000,
    handle(exchange: Exchange) {
      const { path } = exchange.request;
      const body = path === '/document' ? document : 'x'.repeat(size);
      exchange.reply({ status: 200, headers: [], body }, [], exchange.request.query === 'close');
      served.push(path);
    },
    onFault: (error) => {
      throw error;
    },
  });
  afterAll(() => listening.close());

  async function ask(path: string, rest = '\r\n'): Promise<Socket> {
    const { port } = listening;
    const socket = certificate ? await connectTls(port) : connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${rest}`);
    await once(socket, 'readable');
    return socket;
  }

  /** Returns everything received until there is a complete response or the connection ends. */
  async function read(socket: Socket): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let missing = size;
    for await (const piece of socket) {
      // The first piece contains all headers.
      if (pieces.length === 0) missing += piece.indexOf('\r\n\r\n') + 4;
      pieces.push(piece);
      missing -= piece.length;
      if (missing <= 0) break;
    }
    const all = Buffer.concat(pieces);
    return all.subarray(all.indexOf('\r\n\r\n') + 4);
  }

  async function readsNothingOf(count: number, path: string): Promise<Socket[]> {
    return Promise.all(Array.from({ length: count }, () => ask(path)));
  }

  test('holds no copy of a document for each client that waits for it', async () => {
    const before = process.memoryUsage().rss;
    await readsNothingOf(40, '/document');
    expect(process.memoryUsage().rss - before).toBeLessThan((40 * size) / 4);
    expect(unread.held_bytes).toBe(0);
  });

  test.each([
    ['after a request without a body', '/document', '\r\n'],
    ['after a body of a known length', '/document', 'Content-Length: 5\r\n\r\nhello'],
    ['after a chunked body', '/document', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
    ['before its body has arrived', '/document', `Content-Length: ${4 * MiB}\r\n\r\nhello`],
    ['before its chunks have arrived', '/document', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
    ['if the client closes the connection', '/document', 'Connection: close\r\n\r\n'],
    [
      'if the client closes the connection, with another option',
      '/document',
      'Connection: close, TE\r\n\r\n',
    ],
    ['if the server closes the connection', '/document?close', '\r\n'],
  ])('sends a document completely to a client that reads late: %s', async (_what, path, rest) => {
    expect((await read(await ask(path, rest))).equals(document)).toBe(true);
  });

  test('sends a response completely to a client that reads late, and keeps it until then', async () => {
    const socket = await ask('/own');
    expect(unread.held_bytes).toBe(size);
    expect((await read(socket)).equals(Buffer.alloc(size, 'x'))).toBe(true);
    socket.destroy();
    await vi.waitUntil(() => unread.held_bytes === 0, { timeout: 120_000 });
  });

  test('abandons one unread response above the total limit, and no document', async () => {
    const first = await ask('/own');
    const document = await ask('/document');
    const own = [first, ...(await readsNothingOf(3, '/own'))];
    expect(unread.held_bytes).toBe(3 * size);
    // Which response it is depends on the kernel's buffers; test/unit/upload.test.ts tests the order.
    const lengths = await Promise.all(own.map(async (socket) => (await read(socket)).length));
    expect(lengths.filter((length) => length < size)).toHaveLength(1);
    expect((await read(document)).length).toBe(size);
  });

  test('closes a connection with a pipeline of unread responses', async () => {
    served.length = 0;
    let parsed = 0;
    const count = () => {
      parsed += 1;
    };
    subscribe('http.server.request.start', count);
    onTestFinished(() => void unsubscribe('http.server.request.start', count));
    const requests = 'GET /document HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(200);
    const socket = await ask('/document', `\r\n${requests}`);
    await once(socket.resume(), 'close');
    expect(served.length).toBeLessThan(50);
    // node:http uses a few KiB for each request that it reads.
    expect(parsed).toBeLessThan(50);
  });
});
