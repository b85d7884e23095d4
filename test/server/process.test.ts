import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { program, run } from './support/cli.ts';
import { head, match, paths, RawClient, twoPhotos } from './support/client.ts';
import { Home, readiness, type StartOptions, TestServer, WorkerGate } from './support/server.ts';

/** From the start of the process to its end, in every way. */

const homes: Home[] = [];
function newHome(): Home {
  const home = new Home();
  homes.push(home);
  return home;
}
afterEach(() => {
  for (const home of homes.splice(0)) home.remove();
});

async function startGated(options: StartOptions = {}): Promise<{ server: TestServer; gate: WorkerGate }> {
  const home = newHome();
  const gate = new WorkerGate(home);
  const server = await TestServer.start({ ...options, env: { ...gate.env, ...options.env } }, home);
  return { server, gate };
}

const busy = (server: TestServer, workers: number) => server.metricBecomes('facematch_workers_busy', workers);

describe('the start', () => {
  /** Runs `serve` to its end, as one does who got something wrong. */
  async function failing(home: Home, env: Record<string, string>) {
    const fixed = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0', FACEMATCH_KEYS_FILE: home.keysFile };
    const { code, stdout, stderr } = await run(program, ['serve'], home.folder, { ...fixed, ...env });
    // The log is JSON; what is left is for people.
    const words = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    return { code, stdout, words: words.join('\n') };
  }

  const file = projectPath('package.json');
  test.each<[what: string, env: Record<string, string>, words: RegExp]>([
    [
      'a wrong setting',
      { FACEMATCH_PORT: 'http' },
      /FACEMATCH_PORT: expected a whole number from 0 to 65535 but received "http"/,
    ],
    ['an unknown pack', { FACEMATCH_PACK: 'no-such-pack' }, /no model pack/],
    ...['uws', 'node'].map((FACEMATCH_HTTP): [string, Record<string, string>, RegExp] => [
      `an address of another machine (${FACEMATCH_HTTP})`,
      { FACEMATCH_HOST: '192.0.2.1', FACEMATCH_HTTP },
      /Cannot listen on 192\.0\.2\.1 port 0 \(EADDRNOTAVAIL\): .*FACEMATCH_HOST/,
    ]),
    [
      'an addon that is not there',
      { FACEMATCH_ADDON: '/nowhere/facematch.node' },
      /addon did not load[\s\S]*npm run setup/,
    ],
    [
      'a certificate that is none',
      { FACEMATCH_TLS_CERT: file, FACEMATCH_TLS_KEY: file },
      /FACEMATCH_TLS_CERT: the file .* holds no certificate in PEM form/,
    ],
  ])('%s ends it with words that say so, and no stack', async (_what, env, expected) => {
    const home = newHome();
    home.key();
    const { code, stdout, words } = await failing(home, env);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(words).toMatch(expected);
    expect(words).not.toMatch(/^\s+at .*:\d+:\d+/m);
  });

  test('a port of another server ends it, and is not shared', async () => {
    const first = await TestServer.start({}, newHome());
    const home = newHome();
    home.key();
    for (const [variable, address] of [
      ['FACEMATCH_PORT', first.address],
      ['FACEMATCH_ADMIN_PORT', first.adminAddress],
    ] as const) {
      const { code, words } = await failing(home, { [variable]: new URL(address).port });
      expect(code).toBe(1);
      expect(words).toMatch(new RegExp(`\\(EADDRINUSE\\): the port is taken.*${variable}`));
    }
    await first.stop();
  });

  test('a net that was cut short ends it with its name', async () => {
    const home = newHome();
    home.key();
    const pack = join(home.folder, 'pack');
    mkdirSync(pack);
    cpSync(projectPath('models/packs/default'), pack, { recursive: true });
    truncateSync(join(pack, 'embed.onnx'), 1000);
    const { code, words } = await failing(home, { FACEMATCH_PACK: pack });
    expect(code).toBe(1);
    expect(words).toMatch(/embed\.onnx.*replaced, changed or cut short/);
  });

  test('takes flags of Node that no worker thread takes', async () => {
    const node = ['--max-semi-space-size=4', '--max-old-space-size=512', '--title=facematch'];
    const server = await TestServer.start({ node }, newHome());
    expect((await match(server, twoPhotos())).status).toBe(200);
    await server.stop();
  });

  test('requests before the first inference hear not_ready, and readiness says so', async () => {
    const home = newHome();
    const gate = new WorkerGate(home);
    gate.close();
    const server = await TestServer.start({ env: gate.env, until: 'listening' }, home);
    const early = await match(server, twoPhotos());
    expect(early.body.code).toBe('not_ready');
    const readyz = await fetch(`${server.adminAddress}/readyz`);
    expect([readyz.status, await readyz.json()]).toEqual([503, readiness('starting')]);
    expect((await fetch(`${server.adminAddress}/healthz`)).status).toBe(200);
    expect(server.stdout).toEqual([]);
    gate.open();
    await server.line(server.stdout, /listens on/);
    expect((await fetch(`${server.adminAddress}/readyz`)).status).toBe(200);
    expect((await match(server, twoPhotos())).status).toBe(200);
    await server.stop();
  });
});

describe('the end', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s with nothing to do is an exit with 0', async (signal) => {
    const server = await TestServer.start({}, newHome());
    server.child.kill(signal);
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test('a connection that is kept alive does not hold it up', async () => {
    const server = await TestServer.start({}, newHome());
    const client = new RawClient(server.port);
    client.write(head(server, {}, `GET ${paths.models} HTTP/1.1`));
    await client.answer();
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    await client.closed;
  });

  test('under load: running requests finish, new ones on kept connections hear shutting_down', async () => {
    const { server, gate } = await startGated();
    gate.close();
    const get = (path: string) => head(server, {}, `GET ${path} HTTP/1.1`);
    const kept = [paths.models, '/nowhere', paths.match].map((path) => ({
      path,
      client: new RawClient(server.port),
    }));
    for (const { client } of kept) {
      client.write(get(paths.models));
      await client.answer();
    }
    const running = match(server, twoPhotos());
    await busy(server, 1);
    const queued = match(server, twoPhotos());
    await server.metricBecomes('facematch_queue_depth', 1);
    server.child.kill('SIGTERM');
    await server.line(server.stderr, /shutting down/);

    // The route is judged first, also now.
    const codes = ['shutting_down', 'not_found', 'method_not_allowed'];
    for (const [at, { path, client }] of kept.entries()) {
      client.write(get(path));
      const refused = (await client.answers(2))[1]!;
      expect(refused.body.code).toBe(codes[at]);
      expect(refused.headers.connection).toBe('close');
      await client.closed;
    }
    const readyz = await fetch(`${server.adminAddress}/readyz`);
    expect([readyz.status, await readyz.json()]).toEqual([503, readiness('draining')]);

    gate.open();
    const [first, second] = await Promise.all([running, queued]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.headers.get('connection')).toBe('close');
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test('what does not finish within the time allowed is cut off, and the exit is 0 all the same', async () => {
    const { server, gate } = await startGated({ env: { FACEMATCH_SHUTDOWN_MS: '50' } });
    gate.close();
    const running = match(server, twoPhotos()).catch((error: Error) => error);
    await busy(server, 1);
    server.child.kill('SIGTERM');
    expect(await running).toBeInstanceOf(Error);
    gate.open();
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(await server.line(server.stderr, /"cut":1/)).toContain('stopped');
  });

  test('a second signal ends it at once, whatever runs', async () => {
    const { server, gate } = await startGated();
    gate.close();
    const running = match(server, twoPhotos()).catch((error: Error) => error);
    await busy(server, 1);
    server.child.kill('SIGTERM');
    await server.line(server.stderr, /shutting down/);
    server.child.kill('SIGINT');
    expect(await server.ended).toEqual({ code: null, signal: 'SIGINT' });
    expect(await running).toBeInstanceOf(Error);
  });

  test('a signal during the start ends it with 0', async () => {
    const home = newHome();
    const gate = new WorkerGate(home);
    gate.close();
    const server = await TestServer.start({ env: gate.env, until: 'listening' }, home);
    server.child.kill('SIGTERM');
    await server.line(server.stderr, /shutting down/);
    gate.open();
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(server.stdout).toEqual([]);
  });
});

describe('an end that nobody asked for', () => {
  const onSignal = (statement: string) => [
    '--import',
    `data:text/javascript,process.on('SIGUSR2',()=>{${encodeURIComponent(statement)}})`,
  ];

  test.each([
    ['an uncaught error', "throw new Error('thrown on purpose')", 1, /"level":"fatal".*thrown on purpose/],
    ['process.exit', 'process.exit(7)', 7, /starting/],
  ])(
    '%s in the middle of a native call ends the process and leaves nothing hanging',
    async (_what, statement, code, logged) => {
      const { server, gate } = await startGated({ node: onSignal(statement) });
      gate.close();
      const running = match(server, twoPhotos()).catch((error: Error) => error);
      await busy(server, 1);
      server.child.kill('SIGUSR2');
      expect(await server.ended).toEqual({ code, signal: null });
      expect(await running).toBeInstanceOf(Error);
      expect(await server.line(server.stderr, logged)).toBeDefined();
    },
  );
});

test('a log that nobody reads any more does not stop the service', async () => {
  const server = await TestServer.start({}, newHome());
  server.child.stderr!.destroy();
  for (let round = 0; round < 5; round++) expect((await match(server, twoPhotos())).status).toBe(200);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});

test('a log whose reader stands still stops neither the service nor its end', async () => {
  const home = newHome();
  const audit = join(home.folder, 'audit.jsonl');
  const server = await TestServer.start({ env: { FACEMATCH_AUDIT_LOG: audit } }, home);
  server.child.stderr!.pause();
  const request = head(server, { 'x-api-key': 'wrong' }, `GET ${paths.models} HTTP/1.1`);
  // More lines than any pipe holds. So few at a time that their answers fit into a socket: µWS ends a pipeline that waits to be read.
  for (let round = 0; round < 80; round++) {
    const client = new RawClient(server.port);
    client.write(request.repeat(100));
    await client.answers(100);
    client.socket.destroy();
  }
  const { body } = await match(server, twoPhotos());
  expect(body.match).toBe(true);
  server.child.kill('SIGTERM');
  // It cannot end as usual, because the log is not written.
  await once(server.child, 'exit');
  expect(server.child.signalCode).toBe('SIGKILL');
  // The audit log does not depend on it.
  expect(readFileSync(audit, 'utf8')).toContain(body.request_id);
});
