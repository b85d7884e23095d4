import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { chunk, expectProblem, lastChunk, photoForm, RawClient } from '../server/support/client.ts';
import { TestServer, transport } from '../server/support/server.ts';

/** Tests limits on connections, and how connections end. */

const body = photoForm();
/** A server for the tests that neither stop it nor count all its connections. */
const server = await TestServer.forFile({ gate: 'open' });

function connect(server: TestServer): RawClient {
  const client = new RawClient(server.port);
  onTestFinished(() => void client.socket.destroy());
  return client;
}

test('closes connections above the limit of open files, and serves the others', async () => {
  const server = await TestServer.forTest({ under: ['prlimit', '--nofile=200:200'] });
  const [warning] = server.stderr.filter((line) => line.includes('open files'));
  const { max_connections: connections } = JSON.parse(warning!);
  const clients = Array.from({ length: 200 }, () => connect(server));
  await server.metricBecomes('facematch_connections_rejected_total', clients.length - connections);
  expect(await server.metric('facematch_connections')).toBe(connections);
  const kept = clients.find(({ socket }) => !socket.destroyed)!;
  kept.write(server.getRequest());
  expect((await kept.response()).status).toBe(200);
});

test('closes idle admin connections above the limit, so that probes are served', async () => {
  const port = Number(new URL(server.adminOrigin).port);
  const requestHeaders = 'GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const idle = Array.from({ length: 40 }, () => new RawClient(port));
  onTestFinished(() => idle.forEach(({ socket }) => void socket.destroy()));
  // Every second connection has sent a request and is kept alive.
  for (const client of idle.filter((_item, at) => at % 2 === 0)) client.write(requestHeaders);
  for (const client of idle.slice(0, 8)) await client.closed;
  const late = idle.at(-1)!;
  late.write(requestHeaders);
  expect((await late.response()).body.status).toBe('ready');
  expect((await server.probe())[0]).toBe(200);
});

const testOnUws = transport === 'node' ? () => {} : test;

testOnUws('closes idle connections on µWS well before a keep-alive timeout of 20 s', async () => {
  const patient = await TestServer.forTest({ env: { FACEMATCH_HTTP: 'node', FACEMATCH_KEEP_ALIVE_S: '20' } });
  const [kept, active, begun, silent] = [patient, server, server, server].map(connect);
  kept!.write(patient.getRequest());
  await kept!.response();
  active!.write(server.getRequest());
  begun!.write(server.getRequest().slice(0, 20));
  const ends = [active!, begun!, silent!].map((client) => client.closed);
  const first = Promise.race([kept!.closed.then(() => 'kept'), Promise.all(ends).then(() => 'idle')]);
  expect(await first).toBe('idle');
});

test('completes pending uploads at shutdown, and rejects later requests without a reset', async () => {
  const server = await TestServer.forTest();
  const uploading = connect(server);
  const whole = server.photoRequest();
  uploading.write(whole.subarray(0, -1000));
  const kept = connect(server);
  kept.write(server.getRequest());
  await kept.response();
  // The connections are established, and no data has arrived.
  const silent = Array.from({ length: 5 }, () => connect(server));
  await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
  await server.metricBecomes('facematch_requests_in_flight', 1);
  server.child.kill('SIGTERM');
  await server.line(server.stderr, /shutting down/);

  // This body is so large that it is still in transit when it is rejected.
  const large = Buffer.concat([Buffer.from(server.lengthHeaders(8_000_000)), Buffer.alloc(8_000_000)]);
  kept.write(server.getRequest());
  for (const client of silent) client.write(large);
  const rejections = [
    (await kept.responses(2))[1]!,
    ...(await Promise.all(silent.map((one) => one.response()))),
  ];
  for (const { body, headers } of rejections)
    expect([body.code, headers.get('connection')]).toEqual(['shutting_down', 'close']);
  uploading.write(whole.subarray(-1000));
  const { status, headers } = await uploading.response();
  expect([status, headers.get('connection')]).toEqual([200, 'close']);
  await expect(server.getModels()).rejects.toThrow('fetch failed');
  expect(await server.ended).toEqual({ code: 0, signal: null });
  expect(await server.line(server.stderr, /"msg":"stopped"/)).toContain('"requests_cut":0');
});

describe('a body that does not arrive', async () => {
  const env = { FACEMATCH_UPLOAD_IDLE_TIMEOUT_S: '2', FACEMATCH_UPLOAD_TIMEOUT_MS: '600000' };
  const server = await TestServer.forFile({ env });

  test.each<[what: string, requestHeaders: string, bytes: Buffer, detail: RegExp]>([
    ['10 bytes', server.lengthHeaders(body.length), body.subarray(0, -10), /^10 of the \d+ bytes/],
    [
      '10 announced bytes',
      server.lengthHeaders(body.length + 10),
      body,
      /^The body is complete, .* 10 more bytes/,
    ],
    ['the last chunk', server.chunkedHeaders(), chunk(body), /^The body is complete, .* the last chunk/],
  ])(
    'gets a 408 that says what is missing (%s), and later bytes do not keep the connection open',
    { timeout: 120_000 },
    async (_what, requestHeaders, bytes, detail) => {
      const client = connect(server);
      client.write(Buffer.concat([Buffer.from(requestHeaders), bytes]));
      expectProblem(await client.response(), 'upload_timeout', { detail: expect.stringMatching(detail) });
      const drip = setInterval(() => client.write(lastChunk.slice(0, 1)), 50);
      await client.closed;
      clearInterval(drip);
    },
  );
});

test('treats a client that closes its sending side after its request as disconnected', async () => {
  server.gate.close();
  const client = connect(server);
  client.write(server.photoRequest({ 'x-request-id': 'half' }));
  await server.metricBecomes('facematch_requests_in_flight', 1);
  client.socket.end();
  await client.closed;
  server.gate.open();
  expect(await server.logged('half')).toMatchObject({ status: 499, code: 'client_left' });
  expect(client.text).toBe('');
});

test.each([
  ['large', '/API/v1.0/openapi.json', 20],
  ['small', '/nowhere', 400],
])('serves requests after clients disconnect with unread %s responses', async (_size, path, count) => {
  for (let round = 0; round < 100; round++) {
    const { socket } = connect(server);
    await once(socket, 'connect');
    socket.write(server.getRequest(path).repeat(count));
    if (round % 2 === 0) await once(socket, 'data');
    socket.resetAndDestroy();
  }
  expect((await server.getModels()).status).toBe(200);
});
