// Does a client notice a restart? Two servers take turns at ending by SIGTERM and starting again, while clients upload to them.
//   node bench/rolling-restart.mjs [--restarts 12] [--clients 24] [--http uws|node] [--json]
// Half of the clients open a connection for each request; the others keep theirs, pause for up to 300 ms between two requests,
// and honour `Connection: close`. Each sends two photos of 0.5 MB in a third of a second. A client stays with a server
// until it cannot connect any more, which is harder than what a balancer does. A reset is anything else than an answer on a connection that was made.
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { content_type, form } from '../test/support/load.mjs';
import { portraits } from '../test/support/portraits.mjs';
import { endOnSignals, freePorts, makeKey, startServer } from '../test/support/programs.mjs';
import { flags, progress, report } from '../test/support/report.mjs';

const options = flags({ restarts: 12, clients: 24, http: 'uws', json: false });
const path = '/API/v1.0/face/match/upload';

endOnSignals();
const folder = mkdtempSync(join(tmpdir(), 'facematch-rolling-'));
const keysFile = join(folder, 'keys.json');
const key = makeKey(keysFile);
const [photo] = await portraits([{ width: 250, height: 250, format: 'jpeg' }]);
// Bytes behind the end of a JPEG are ignored; what counts here is how long the upload takes.
const padded = Buffer.concat([photo.bytes, Buffer.alloc(512 * 1024)]);
const body = form({ image1: padded, image2: padded });

const ports = await freePorts(2);
const start = (port) =>
  startServer({
    env: {
      FACEMATCH_PORT: String(port),
      FACEMATCH_KEYS_FILE: keysFile,
      FACEMATCH_WORKERS: '1',
      FACEMATCH_QUEUE: '64',
      FACEMATCH_HTTP: options.http,
    },
  });
const servers = await Promise.all(ports.map(start));

const seen = { answered: 0, refused_503: 0, not_connected: 0, resets: 0, other: 0 };
const resets = [];
let goesOn = true;

/** One request: its status, `refused` when no connection was made, or `reset`. */
const ask = (port, agent) =>
  new Promise((resolve) => {
    let connected = false;
    const headers = { 'x-api-key': key, 'content-type': content_type, 'content-length': body.length };
    const sent = request({ port, host: '127.0.0.1', path, method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
      answer.on('error', () => resolve('reset'));
    });
    sent.on('socket', (socket) => {
      if (!socket.connecting) connected = true;
      else
        socket.once('connect', () => {
          connected = true;
        });
    });
    sent.on('error', (error) => {
      if (connected) resets.push(`${error.code} ${error.message}`);
      resolve(connected ? 'reset' : 'refused');
    });
    void upload(sent);
  });

const piece_bytes = 64 * 1024;

async function upload(sent) {
  for (let at = 0; at < body.length && !sent.destroyed; at += piece_bytes) {
    sent.write(body.subarray(at, at + piece_bytes));
    await pause(20);
  }
  sent.end();
}

async function client(index) {
  const keeps = index % 2 === 1;
  const agents = ports.map(() => new Agent({ keepAlive: keeps, maxSockets: 1 }));
  for (let turn = index; goesOn; turn += 1) {
    const outcome = await ask(ports[turn % 2], agents[turn % 2]);
    if (outcome === 200) seen.answered += 1;
    else if (outcome === 503) seen.refused_503 += 1;
    else if (outcome === 'refused') seen.not_connected += 1;
    else if (outcome === 'reset') seen.resets += 1;
    else seen.other += 1;
    if (outcome !== 'refused') turn += 1;
    if (keeps) await pause(Math.random() * 300);
  }
  for (const agent of agents) agent.destroy();
}

const clients = Array.from({ length: options.clients }, (_, index) => client(index));
for (let turn = 0; turn < options.restarts; turn += 1) {
  progress(`restart ${turn + 1} of ${options.restarts}`);
  await pause(1000);
  const one = turn % 2;
  await servers[one].stop();
  servers[one] = await start(ports[one]);
}
goesOn = false;
await Promise.all(clients);
await Promise.all(servers.map((server) => server.stop()));
rmSync(folder, { recursive: true, force: true });
report({
  title: `A rolling restart, ${options.restarts} times, under ${options.clients} clients (${options.http})`,
  json: options.json,
  facts: { ...seen, reset_reasons: [...new Set(resets)].join('; ') || undefined },
  claims: [
    { what: 'requests that were reset', found: String(seen.resets), limit: 'none', ok: seen.resets === 0 },
    {
      what: 'other answers than 200 and 503',
      found: String(seen.other),
      limit: 'none',
      ok: seen.other === 0,
    },
  ],
});
