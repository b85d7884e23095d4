// A TLS listener in a process of its own, without the rest of the server: it renews its certificate, turn by turn one of two,
// as often as it is told, and tells what memory that took. Arguments: the folder with one.crt, two.crt and their keys.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { loadAddon } from '../../../dist/src/engine/load-addon.js';
import { Connections } from '../../../dist/src/http/listening.js';
import { json } from '../../../dist/src/http/responses.js';
import { chooseTransport } from '../../../dist/src/http/transport.js';
import { UnreadAnswers } from '../../../dist/src/http/unread.js';

const folder = process.argv[2];
const addon = loadAddon();
const certificate = { cert: join(folder, 'served.crt'), key: join(folder, 'served.key') };
const put = (name) => {
  copyFileSync(join(folder, `${name}.crt`), certificate.cert);
  copyFileSync(join(folder, `${name}.key`), certificate.key);
};

put('one');
const listener = await chooseTransport(process.env.FACEMATCH_HTTP ?? 'auto').open({
  host: '127.0.0.1',
  port: 0,
  variables: '',
  limits: { upload_timeout_ms: 1000, idle_ms: 1000, drain_bytes: 1000, unread: new UnreadAnswers() },
  connections: new Connections(Number.POSITIVE_INFINITY),
  keep_alive_ms: 10_000,
  handle: (exchange) => exchange.reply(json(200, {})),
  onFault: (error) => {
    throw error;
  },
  certificate,
  preferNewest: (port) => {
    if (!addon.preferNewestListener(port)) throw new Error('The kernel does not prefer the newest');
  },
  // Longer than any handshake on a busy machine, and short for a test of many.
  handover_ms: 200,
});

const rss = () => {
  global.gc?.();
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
};

async function renew(times) {
  const before = rss();
  for (let count = 1; count <= times; count++) {
    put(count % 2 === 0 ? 'one' : 'two');
    await listener.renew();
    // node:http renews at once: without a pause no connection would see the certificates in between.
    await pause(100);
  }
  return rss() - before;
}

process.on('message', async ({ times }) => {
  if (times > 0) return process.send({ grown: await renew(times) });
  listener.close();
  process.disconnect();
});
process.send({ port: listener.port });
