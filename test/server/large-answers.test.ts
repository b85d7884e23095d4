import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { head, RawClient, send } from './support/client.ts';
import { TestServer, transport } from './support/server.ts';

/** Answers that do not go out at once, because the client reads nothing or has left. */

const openapi = '/API/v1.0/openapi.json';

const server = await TestServer.forFile();

const asks = (count: number, path = openapi) => head(server, {}, `GET ${path} HTTP/1.1`).repeat(count);

const ask = () => send(server, { path: openapi, method: 'GET' });

test.each([
  ['large', () => asks(20)],
  ['small', () => asks(400, '/nowhere')],
])('%s ones for clients who leave before them do not end the server', async (_size, text) => {
  for (let round = 0; round < 100; round++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(text());
    if (round % 2 === 0) await once(socket, 'data');
    socket.resetAndDestroy();
  }
  expect((await ask()).status).toBe(200);
});

/** Asks that many times at once, and reads only after other clients have had answers. */
async function readLate(count: number): Promise<RawClient> {
  const client = new RawClient(server.port);
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
  client.socket.destroy();
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
  client.socket.destroy();
});
