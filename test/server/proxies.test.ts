import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { hasOpenssl, makePair, type Pair } from '../fixtures/certificates.ts';
import { run } from './support/cli.ts';
import { formType, head, type Json, paths, photoForm, RawClient } from './support/client.ts';
import { redisInstalled } from './support/redis.ts';
import { Home, TestServer, WorkerGate } from './support/server.ts';
import { connectTls } from './support/tls.ts';

const { startProgram } = await import(projectPath('test/support/programs.mjs'));

const hasCaddy = spawnSync('caddy', ['version']).status === 0;
if (!hasCaddy) process.stderr.write('deploy/Caddyfile is not tested: caddy is not installed\n');

/** deploy/Caddyfile for real: its address, certificate and servers replaced by those of the test. */
async function startCaddy(folder: string, port: number, pair: Pair, servers: readonly number[]) {
  const replacements = [
    ['facematch.example {', `https://localhost:${port} {`],
    ['# tls /etc/facematch/tls.crt /etc/facematch/tls.key', `tls ${pair.cert} ${pair.key}`],
    ['to 127.0.0.1:8080', `to ${servers.map((one) => `127.0.0.1:${one}`).join(' ')}`],
    ['# admin off', 'admin off'],
  ] as const;
  let text = readFileSync(projectPath('deploy/Caddyfile'), 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`deploy/Caddyfile no longer has: ${from}`);
    text = text.replace(from, to);
  }
  // Else it would ask for port 80 as well, to send browsers on from there.
  text = text.replace('admin off', 'admin off\n\tauto_https disable_redirects');
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, text);
  // It tells of its start on standard error.
  const args = ['-c', 'exec caddy "$@" 2>&1', 'sh', 'run', '--config', file, '--adapter', 'caddyfile'];
  const caddy = await startProgram('sh', args, {
    ready: /serving initial configuration/,
    env: { HOME: folder },
  });
  return { stop: () => caddy.stop() };
}

/** The samples of deploy/ for proxies, with the real programs. Debian has both. */

const { freePorts } = await import(projectPath('test/support/programs.mjs'));
const { hasNginx, startNginx } = await import(projectPath('test/support/nginx.mjs'));
if (!hasNginx) process.stderr.write('deploy/nginx.conf is not tested: nginx is not installed\n');

const body = photoForm();
const homes: Home[] = [];
const home = () => {
  const made = new Home();
  homes.push(made);
  return made;
};
afterAll(() => {
  for (const one of homes) one.remove();
});

let pair: Pair;
let dispatcher: Agent;
beforeAll(() => {
  if (!hasOpenssl) return;
  pair = makePair(home().folder, 'one');
  dispatcher = new Agent({ connect: { ca: readFileSync(pair.cert) } });
});
afterAll(() => dispatcher?.close());

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Json;
}

async function post(
  port: number,
  key: string,
  sent: Uint8Array = body,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await request(`https://localhost:${port}${paths.match}`, {
    method: 'POST',
    dispatcher,
    headers: { 'x-api-key': key, 'content-type': formType, ...headers },
    body: sent,
  });
  const text = await answer.body.text();
  // A proxy's own words are HTML, or none.
  const json = /json/.test(String(answer.headers['content-type']));
  return { status: answer.statusCode, headers: answer.headers, body: json ? JSON.parse(text) : text };
}

/** Two servers that know the same key, the first with a door before its workers; `place` puts a proxy in front. */
async function pairOfServers() {
  const shared = home();
  const gate = new WorkerGate(shared);
  const env = {
    FACEMATCH_TRUSTED_HOPS: '1',
    FACEMATCH_AUTH_FAILURE_BURST: '3',
    FACEMATCH_AUTH_FAILURES_PER_MINUTE: '1',
  };
  const first = await TestServer.start({ env: { ...env, ...gate.env, FACEMATCH_QUEUE: '0' } }, shared);
  const second = await TestServer.start({ env: { ...env, FACEMATCH_KEYS_FILE: shared.keysFile } }, home());
  return { first, second, gate, key: first.key };
}

async function stop(...servers: TestServer[]) {
  for (const server of servers) server.child.kill('SIGTERM');
  await Promise.all(servers.map(({ ended }) => ended));
}

describe.skipIf(!hasNginx || !hasOpenssl)('nginx with the sample', () => {
  let servers: Awaited<ReturnType<typeof pairOfServers>>;
  let nginx: { port: number; stop(): Promise<void> };
  let folder: string;
  beforeAll(async () => {
    servers = await pairOfServers();
    folder = home().folder;
    nginx = await startNginx({ folder, pair, servers: [servers.first.port, servers.second.port] });
  });
  afterAll(async () => {
    await nginx?.stop();
    await stop(servers.first, servers.second);
  });

  test('answers a match over TLS, and says that it will stay with TLS', async () => {
    const answer = await post(nginx.port, servers.key);
    expect(answer).toMatchObject({ status: 200, body: { match: true } });
    expect(answer.headers['strict-transport-security']).toContain('max-age=');
    expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
  });

  test('asks the other server where one says 503, so that no client hears it', async () => {
    servers.gate.close();
    // Its only worker stands at the door, and nobody may queue behind it.
    const waiting = request(`${servers.first.address}${paths.match}`, {
      method: 'POST',
      headers: { 'x-api-key': servers.key, 'content-type': formType },
      body,
    });
    await servers.first.metricBecomes('facematch_workers_busy', 1);
    const before = await servers.first.metric('facematch_refusals_total{reason="load",code="overloaded"}');
    for (let count = 0; count < 6; count++) expect((await post(nginx.port, servers.key)).status).toBe(200);
    expect(
      await servers.first.metric('facematch_refusals_total{reason="load",code="overloaded"}'),
    ).toBeGreaterThan(before);
    servers.gate.open();
    await (await waiting).body.dump();
  });

  test('refuses a body beyond 20 MiB in our form, and takes one of nearly as much', async () => {
    const direct = await request(`${servers.second.address}${paths.match}`, {
      method: 'POST',
      headers: { 'x-api-key': servers.key, 'content-type': formType },
      body: Buffer.alloc(21 * 1024 * 1024),
    });
    const ours = (await direct.body.json()) as Json;
    const refused = await post(nginx.port, servers.key, Buffer.alloc(21 * 1024 * 1024));
    expect(refused.headers['content-type']).toBe('application/problem+json');
    expect(refused.body).toEqual({ ...ours, request_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const taken = await post(nginx.port, servers.key, Buffer.alloc(20 * 1024 * 1024 - 1));
    expect(taken.body).toMatchObject({ status: 400, code: 'invalid_multipart' });
  });

  test('reads a slow sender by itself: the server hears nothing until all is there', async () => {
    const client = new RawClient(await connectTls(nginx.port, { servername: 'localhost' }));
    const received = () =>
      Promise.all([servers.first, servers.second].map((one) => one.metric('facematch_upload_bytes')));
    client.write(head(servers.first, { 'content-length': String(body.length) }));
    client.write(body.subarray(0, 50_000));
    // Later connections have been served meanwhile.
    expect((await post(nginx.port, servers.key)).status).toBe(200);
    expect(await received()).toEqual([0, 0]);
    client.write(body.subarray(50_000));
    expect((await client.answer()).body).toMatchObject({ match: true });
    client.leave();
  });

  test("counts wrong keys by the client's own address, and believes no other", async () => {
    const statuses = async (from: string) => {
      const all = [];
      for (let count = 0; count < 12; count++)
        all.push((await post(nginx.port, 'wrong', body, { 'x-forwarded-for': from })).status);
      return all;
    };
    // Whatever it says that it is: nginx appends 127.0.0.1, and that is who is counted.
    expect(new Set([...(await statuses('192.0.2.1')), ...(await statuses('192.0.2.2'))])).toEqual(
      new Set([401, 429]),
    );
    // A client elsewhere is not counted with it.
    const elsewhere = await request(`${servers.first.address}${paths.match}`, {
      method: 'POST',
      headers: { 'x-api-key': 'wrong', 'content-type': formType, 'x-forwarded-for': '192.0.2.9' },
      body,
    });
    await elsewhere.body.dump();
    expect(elsewhere.statusCode).toBe(401);
  });
});

describe.skipIf(!hasNginx || !hasOpenssl)('nginx with TLS to the server behind as well', () => {
  test('trusts what it is told to, and nothing else', async () => {
    const other = makePair(home().folder, 'two');
    const env = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key };
    const server = await TestServer.start({ env }, home());
    for (const [ca, status] of [
      [pair.cert, 200],
      [other.cert, 502],
    ] as const) {
      const nginx = await startNginx({ folder: home().folder, pair, servers: [server.port], ca });
      const answer = await request(`https://localhost:${nginx.port}${paths.match}`, {
        method: 'POST',
        dispatcher: new Agent({ connect: { ca: readFileSync(pair.cert) } }),
        headers: { 'x-api-key': server.key, 'content-type': formType },
        body,
      });
      await answer.body.dump();
      expect(answer.statusCode).toBe(status);
      await nginx.stop();
    }
    await stop(server);
  });
});

describe.skipIf(!hasCaddy || !hasOpenssl)('Caddy with the sample', () => {
  test('answers matches over TLS, passes refusals on, counts clients by their address, and leaves out a server that has gone', async () => {
    const servers = await pairOfServers();
    const [port] = await freePorts(1);
    const folder = home().folder;
    // Whatever is found below.
    onTestFinished(() => stop(servers.first, servers.second));
    const caddy = await startCaddy(folder, port, pair, [servers.first.port, servers.second.port]);
    onTestFinished(() => caddy.stop());
    const answer = await post(port, servers.key);
    expect(answer).toMatchObject({ status: 200, body: { match: true } });
    expect(answer.headers['strict-transport-security']).toContain('max-age=');

    const refused = await post(port, servers.key, Buffer.alloc(21 * 1024 * 1024));
    expect(refused.body).toMatchObject({ status: 413, code: 'body_too_large' });
    const wrong = [];
    for (let count = 0; count < 12; count++) {
      wrong.push((await post(port, 'wrong', body, { 'x-forwarded-for': `192.0.2.${count}` })).status);
    }
    expect(new Set(wrong)).toEqual(new Set([401, 429]));

    await stop(servers.first);
    // It asks every other second who is there. Until then one in two requests may hear 502, and nothing else.
    const after: number[] = [];
    while (after.slice(-8).filter((status) => status === 200).length < 8)
      after.push((await post(port, servers.key)).status);
    expect(new Set(after)).toEqual(new Set(after.includes(502) ? [200, 502] : [200]));
  });
});

/** The proof of docs/replicas.md in small: what holds on a machine of any speed. Its figures are taken by hand. */

interface Claim {
  what: string;
  found: string | number;
  ok: boolean;
}

describe.skipIf(!redisInstalled || !hasNginx)('three replicas behind nginx', () => {
  test('keep one limit, and lose no request when one of them or Redis is killed, or all are replaced', async () => {
    const { code, stdout, stderr } = await run(
      projectPath('deploy/replicas/prove.mjs'),
      ['--quick', '--json'],
      projectPath('.'),
    );
    expect(stderr).toBe('');
    const { claims } = JSON.parse(stdout) as { claims: Claim[] };
    expect(claims.filter(({ ok }) => !ok)).toEqual([]);
    expect(claims).toHaveLength(7);
    expect(code).toBe(0);
  }, 180_000);
});
