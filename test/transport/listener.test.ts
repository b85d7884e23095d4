import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Connections, type Listening } from '../../src/http/listening.ts';
import { UnreadResponses } from '../../src/http/unread.ts';
import { chooseTransport } from '../../src/server/listeners.ts';
import { transport } from '../server/support/server.ts';

/** Tests listeners that the test process opens itself, without the facematch server. */

const open = () =>
  chooseTransport(transport).open({
    host: '127.0.0.1',
    port: 0,
    variables: '',
    limits: { upload_timeout_ms: 30_000, idle_ms: 10_000, drain_bytes: 1, unread: new UnreadResponses(1) },
    connections: new Connections(1000),
    keep_alive_ms: 10_000,
    handle: (exchange) => void exchange.reply({ status: 200, headers: [], body: 'response' }),
    onFault: (error) => {
      throw error;
    },
  });

async function connected({ port }: Listening) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

test('ignores stopListening() on a closed listener, as after the shutdown timeout', async () => {
  for (let round = 0; round < 10; round++) {
    const closed = await open();
    closed.close();
    // µWS frees the memory in the next iterations of the event loop, and the other listener may use it.
    for (let iteration = 0; iteration < 4; iteration++) await nextIteration();
    const other = await open();
    const sockets = await Promise.all(Array.from({ length: 20 }, () => connected(other)));
    closed.stopListening();
    for (const socket of sockets) {
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const [data] = await once(socket, 'data');
      expect(String(data)).toContain('200 OK');
    }
    (await connected(other)).destroy();
    for (const socket of sockets) socket.destroy();
    other.close();
  }
});
