import { once } from 'node:events';
import { closeSync, cpSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { execute, program } from '../../server/support/cli.ts';
import { formType, paths, photoForm, RawClient, twoPhotos } from '../../server/support/client.ts';
import { disturbedAddon, failingStart, Home, readiness, TestServer } from '../../server/support/server.ts';
import { namedPipe, newFolder } from '../../support/folder.ts';

const { freePorts, inherited, launch, serve } = await import(projectPath('test/support/programs.mjs'));

/** Starts a server whose worker waits at the gate with a request. */
async function startBusy(options: Parameters<typeof TestServer.forTest>[0] = {}) {
  const server = await TestServer.forTest({ ...options, gate: 'open' });
  server.gate.close();
  const running = server.match(twoPhotos()).catch((error: Error) => error);
  await server.metricBecomes('facematch_workers_busy', 1);
  return { server, running };
}

async function insist(server: TestServer, send: () => void): Promise<void> {
  const sending = setInterval(send, 50);
  await server.ended;
  clearInterval(sending);
}

describe('startup', () => {
  const file = projectPath('package.json');
  const die = join(newFolder(), 'die');
  writeFileSync(die, '');
  const damaged = newFolder();
  cpSync(projectPath('models/packs/default'), damaged, { recursive: true });
  truncateSync(join(damaged, 'embed.onnx'), 1000);
  test.each<[what: string, env: Record<string, string>, words: RegExp]>([
    ['a wrong setting', { FACEMATCH_PORT: 'http' }, /FACEMATCH_PORT: expected .* but received "http"/],
    ['workers that crash on their first image', { ...disturbedAddon, DIE_FILE: die }, /on purpose/],
    ['an unknown pack', { FACEMATCH_PACK: 'no-such-pack' }, /no model pack/],
    ['a truncated net', { FACEMATCH_PACK: damaged }, /embed\.onnx.*replaced, changed or truncated/],
    [
      'an audit log in a missing folder',
      { FACEMATCH_AUDIT_LOG: '/no/such/audit' },
      /AUDIT_LOG cannot .*: ENOENT/,
    ],
    [
      'an audit log that is a pipe without a reader',
      { FACEMATCH_AUDIT_LOG: namedPipe() },
      /AUDIT_LOG cannot .*: no program reads/,
    ],
    ...['uws', 'node'].map((FACEMATCH_HTTP): [string, Record<string, string>, RegExp] => [
      `another machine's IP address (${FACEMATCH_HTTP})`,
      { FACEMATCH_HOST: '192.0.2.1', FACEMATCH_HTTP },
      /Cannot listen on 192\.0\.2\.1 port 0 \(EADDRNOTAVAIL\): .*FACEMATCH_HOST/,
    ]),
    ['no addon', { FACEMATCH_ADDON: '/nowhere.node' }, /addon did not load[\s\S]*npm run setup/],
    ['no certificate', { FACEMATCH_TLS_CERT: file, FACEMATCH_TLS_KEY: file }, /TLS_CERT: .* no certificate/],
  ])('fails for %s, with a message and without a stack', async (_what, env, expected) => {
    const words = await failingStart(env);
    expect(words).toMatch(expected);
    expect(words).not.toMatch(/^\s+at .*:\d+:\d+/m);
  });

  test('fails with a message if the limit of open files is too low', async () => {
    const limited = ['--nofile=48:48', process.execPath, program, 'serve'];
    const { code, stderr } = await execute('prlimit', limited, newFolder(), inherited);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: EMFILE.*ulimit -n.*\n$/)]);
  });

  test('fails if another server uses the port', async () => {
    const first = await TestServer.forTest();
    for (const [variable, origin] of [
      ['FACEMATCH_PORT', first.origin],
      ['FACEMATCH_ADMIN_PORT', first.adminOrigin],
    ] as const)
      expect(await failingStart({ [variable]: new URL(origin).port })).toMatch(
        new RegExp(`\\(EADDRINUSE\\): the port is in use.*${variable}`),
      );
  });

  test('is not ready until the first inference, and accepts Node flags that workers do not accept', async () => {
    const node = ['--max-semi-space-size=4', '--max-old-space-size=512', '--title=facematch'];
    const server = await TestServer.forTest({ gate: 'closed', until: 'listening', node });
    expect(await server.probe()).toEqual([503, readiness('starting')]);
    expect(await server.probe('/healthz')).toEqual([200, { status: 'alive' }]);
    expect(server.stdout).toEqual([]);
    server.gate.open();
    await server.line(server.stdout, /listens on/);
    expect((await server.probe())[0]).toBe(200);
    expect((await server.match(twoPhotos())).status).toBe(200);
  });
});

describe('shutdown', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 on %s when idle', async (signal) => {
    const server = await TestServer.forTest();
    // An idle keep-alive connection does not delay the shutdown.
    const client = new RawClient(server.port);
    client.write(server.getRequest());
    await client.response();
    server.child.kill(signal);
    expect(await server.ended).toEqual({ code: 0, signal: null });
    await client.closed;
  });

  test('finishes requests in flight, and responds shutting_down to new ones on keep-alive connections', async () => {
    const server = await TestServer.forTest({ gate: 'open' });
    server.gate.close();
    const asked = [paths.models, '/nowhere', paths.match];
    const kept = asked.map((path) => ({ path, client: new RawClient(server.port) }));
    for (const { client } of kept) {
      client.write(server.getRequest());
      await client.response();
    }
    const running = server.match(twoPhotos());
    await server.metricBecomes('facematch_workers_busy', 1);
    const queued = server.match(twoPhotos());
    await server.metricBecomes('facematch_queue_depth', 1);
    server.child.kill('SIGTERM');
    await server.line(server.stderr, /shutting down/);

    // During shutdown, too, the route is checked first.
    const codes = ['shutting_down', 'not_found', 'method_not_allowed'];
    for (const [at, { path, client }] of kept.entries()) {
      client.write(server.getRequest(path));
      const rejected = (await client.responses(2))[1]!;
      expect(rejected.body.code).toBe(codes[at]);
      expect(rejected.headers.get('connection')).toBe('close');
      await client.closed;
    }
    expect(await server.probe()).toEqual([503, readiness('draining')]);

    server.gate.open();
    const [first, second] = await Promise.all([running, queued]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.headers.get('connection')).toBe('close');
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test('aborts requests that exceed the shutdown timeout, and exits with 0', async () => {
    const { server, running } = await startBusy({ env: { FACEMATCH_SHUTDOWN_TIMEOUT_MS: '50' } });
    server.child.kill('SIGTERM');
    expect(await running).toBeInstanceOf(Error);
    server.gate.open();
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(await server.line(server.stderr, /"requests_cut":1/)).toContain('stopped');
  });

  test('exits at once on a second signal after one second, even with requests in flight', async () => {
    const { server, running } = await startBusy();
    server.child.kill('SIGTERM');
    await insist(server, () => server.child.kill('SIGINT'));
    expect(await server.ended).toEqual({ code: null, signal: 'SIGINT' });
    expect(await running).toBeInstanceOf(Error);
  });

  test('ignores a second signal right after the first', async () => {
    const { server, running } = await startBusy();
    server.child.kill('SIGINT');
    await server.line(server.stderr, /shutting down/);
    server.child.kill('SIGINT');
    server.child.kill('SIGTERM');
    server.gate.open();
    expect(await running).toMatchObject({ status: 200 });
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test('shuts down when the shell that started it exits, as with npx', async () => {
    const server = await TestServer.forTest({
      env: { npm_command: 'exec' },
      // The second command keeps the shell from replacing itself with Node.
      under: ['sh', '-c', '"$@"; true', 'sh'],
    });
    server.child.kill('SIGKILL');
    expect(await server.line(server.stderr, /"msg":"stopped"/)).toContain('"requests_cut":0');
  });

  test('ignores SIGUSR1, and does not start a debugger', async () => {
    const server = await TestServer.forTest();
    server.child.kill('SIGUSR1');
    await server.match(twoPhotos());
    await server.stop();
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(server.stderr.join()).not.toContain('ebugger');
  });

  test('exits with 0 on a signal during startup', async () => {
    const server = await TestServer.forTest({ gate: 'closed', until: 'listening' });
    server.child.kill('SIGTERM');
    await server.line(server.stderr, /shutting down/);
    server.gate.open();
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(server.stdout).toEqual([]);
  });
});

test('exits on an uncaught exception during a native call', async () => {
  const statement = encodeURIComponent("throw new Error('thrown on purpose')");
  const node = ['--import', `data:text/javascript,process.on('SIGUSR2',()=>{${statement}})`];
  const { server, running } = await startBusy({ node });
  server.child.kill('SIGUSR2');
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(await running).toBeInstanceOf(Error);
  expect(await server.line(server.stderr, /"level":"fatal".*thrown on purpose/)).toBeDefined();
});

test('continues after the reader of its log has exited', async () => {
  const server = await TestServer.forTest();
  server.child.stderr!.destroy();
  for (let round = 0; round < 5; round++) expect((await server.match(twoPhotos())).status).toBe(200);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});

test('serves and shuts down with output to a full disk', async () => {
  const home = new Home();
  const key = home.key();
  const [port, admin] = await freePorts(2);
  const full = openSync('/dev/full', 'w');
  const { child, ended } = launch(process.execPath, serve, {
    stdio: ['ignore', full, full],
    env: {
      ...inherited,
      FACEMATCH_PORT: String(port),
      FACEMATCH_ADMIN_PORT: String(admin),
      FACEMATCH_KEYS_FILE: home.keysFile,
      FACEMATCH_AUDIT_LOG: '/dev/full',
    },
  });
  closeSync(full);
  const status = (url: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${url}`, init).then(
      (response) => response.status,
      () => 0,
    );
  await expect.poll(() => status(`${admin}/readyz`)).toBe(200);
  const headers = { 'x-api-key': key, 'content-type': formType };
  const asked = { method: 'POST', headers, body: photoForm() };
  expect(await status(port + paths.match, asked)).toBe(200);
  child.kill('SIGTERM');
  expect(await ended).toEqual({ code: 0, signal: null });
});

test('serves and shuts down while the reader of its log is paused', async () => {
  const audit = join(newFolder(), 'audit.jsonl');
  const server = await TestServer.forTest({ env: { FACEMATCH_AUDIT_LOG: audit } });
  server.child.stderr!.pause();
  const request = server.requestHeaders({ 'x-api-key': 'wrong' }, `GET ${paths.models} HTTP/1.1`);
  // The log lines exceed a pipe's capacity. The responses must fit into a socket, because µWS closes a pipelined
  // connection that is not read.
  for (let round = 0; round < 80; round++) {
    const client = new RawClient(server.port);
    client.write(request.repeat(100));
    await client.responses(100);
    client.socket.destroy();
  }
  const { body } = await server.match(twoPhotos());
  expect(body.match).toBe(true);
  server.child.kill('SIGTERM');
  await once(server.child, 'exit');
  expect(server.child.exitCode).toBe(0);
  // The audit log must not depend on the log's reader.
  expect(readFileSync(audit, 'utf8')).toContain(body.request_id);
});
