import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { head, lastChunk, paths, photoForm, RawClient, send } from './support/client.ts';
import { TestServer, transport } from './support/server.ts';

/** How many connections there may be, and how they end. */

const body = photoForm();
const get = (server: TestServer) => head(server, {}, `GET ${paths.models} HTTP/1.1`);
const post = (server: TestServer, length = body.length) => head(server, { 'content-length': String(length) });

function connect(server: TestServer): RawClient {
  const client = new RawClient(server.port);
  onTestFinished(() => void client.socket.destroy());
  return client;
}

async function start(options: Parameters<typeof TestServer.start>[0] = {}): Promise<TestServer> {
  const server = await TestServer.start(options);
  onTestFinished(() => server.stop());
  return server;
}

test('beyond what the limit of open files allows are closed, and the others served', async () => {
  const server = await start({ under: ['prlimit', '--nofile=200:200'] });
  const [warning] = server.stderr.filter((line) => line.includes('open files'));
  const { connections } = JSON.parse(warning!);
  const clients = Array.from({ length: 200 }, () => connect(server));
  await server.metricBecomes('facematch_connections_refused_total', clients.length - connections);
  expect(await server.metric('facematch_connections')).toBe(connections);
  const kept = clients.find(({ socket }) => !socket.destroyed)!;
  kept.write(get(server));
  expect((await kept.answer()).status).toBe(200);
});

describe('at a shutdown', () => {
  test('uploads that are under way are answered, and what comes after them is refused without a reset', async () => {
    const server = await start();
    const uploading = connect(server);
    uploading.write(Buffer.concat([Buffer.from(post(server)), body.subarray(0, 1000)]));
    const kept = connect(server);
    kept.write(get(server));
    await kept.answer();
    // Their connections are made, and nothing has come on them.
    const silent = Array.from({ length: 5 }, () => connect(server));
    await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
    await server.metricBecomes('facematch_requests_unanswered', 1);
    server.child.kill('SIGTERM');
    await server.line(server.stderr, /shutting down/);

    // Large enough to be still on its way when it is refused.
    const large = Buffer.concat([Buffer.from(post(server, 8_000_000)), Buffer.alloc(8_000_000)]);
    kept.write(get(server));
    for (const client of silent) client.write(large);
    for (const answer of [
      (await kept.answers(2))[1]!,
      ...(await Promise.all(silent.map((one) => one.answer()))),
    ]) {
      expect(answer.body.code).toBe('shutting_down');
      expect(answer.headers.connection).toBe('close');
    }
    uploading.write(body.subarray(1000));
    const { status, headers } = await uploading.answer();
    expect({ status, connection: headers.connection }).toEqual({ status: 200, connection: 'close' });
    await expect(send(server, { path: paths.models, method: 'GET' })).rejects.toThrow('fetch failed');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(await server.line(server.stderr, /"msg":"stopped"/)).toContain('"cut":0');
  });
});

describe('a body that does not come', () => {
  const env = { FACEMATCH_IDLE_TIMEOUT_S: '3', FACEMATCH_UPLOAD_TIMEOUT_MS: '600000' };

  test.each<[what: string, head: (server: TestServer) => string, bytes: Buffer, detail: RegExp]>([
    [
      'in time is told how much of it',
      (server) => post(server),
      body.subarray(0, -10),
      /^10 of the \d+ bytes/,
    ],
    [
      'although the form has ended is told that Content-Length is wrong',
      (server) => post(server, body.length + 10),
      body,
      /^The body had already ended, but Content-Length promises 10 bytes more/,
    ],
    [
      'although the form has ended is told that the last chunk lacks',
      (server) => head(server, { 'transfer-encoding': 'chunked' }),
      Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]),
      /^The body had already ended, but the last chunk/,
    ],
  ])('%s, and dripping keeps no connection', { timeout: 30_000 }, async (_what, headOf, bytes, detail) => {
    const server = await start({ env });
    const client = connect(server);
    client.write(Buffer.concat([Buffer.from(headOf(server)), bytes]));
    expect((await client.answer()).body).toMatchObject({
      status: 408,
      detail: expect.stringMatching(detail),
    });
    const drip = setInterval(() => client.write(lastChunk.slice(0, 1)), 50);
    await client.closed;
    clearInterval(drip);
  });
});

describe('answers that do not go out at once', async () => {
  const openapi = '/API/v1.0/openapi.json';

  const server = await TestServer.forFile();

  const asks = (count: number, path = openapi) => head(server, {}, `GET ${path} HTTP/1.1`).repeat(count);

  const ask = () => send(server, { path: openapi, method: 'GET' });

  test.each([
    ['large', () => asks(20)],
    ['small', () => asks(400, '/nowhere')],
  ])('%s ones for clients who leave before them do not end the server', async (_size, text) => {
    for (let round = 0; round < 100; round++) {
      const { socket } = connect(server);
      await once(socket, 'connect');
      socket.write(text());
      if (round % 2 === 0) await once(socket, 'data');
      socket.resetAndDestroy();
    }
    expect((await ask()).status).toBe(200);
  });

  /** Asks that many times at once, and reads only after other clients have had answers. */
  async function readLate(count: number): Promise<RawClient> {
    const client = connect(server);
    await once(client.socket, 'connect');
    client.socket.pause();
    client.write(asks(count));
    for (let round = 0; round < 5; round++) expect((await ask()).status).toBe(200);
    client.socket.resume();
    return client;
  }

  test('an answer comes whole to a client who reads late', async () => {
    const client = await readLate(1);
    expect((await client.answer()).body).toEqual((await ask()).body);
  });

  test('of a pipeline, whole answers come to a client who reads late', async () => {
    // How many the sockets hold differs between machines; on µWS one that has to wait for its place ends the connection, on
    // node:http it waits (docs/uws-lifecycle.md).
    const count = 30;
    const client = await readLate(count);
    const all = client.answers(count);
    await (transport === 'node' ? all : all.catch(() => client.closed));
    const { body } = await ask();
    for (const answer of await client.answers(0)) expect(answer.body).toEqual(body);
  });
});
