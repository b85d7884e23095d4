import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { match, twoPhotos } from './support/client.ts';
import { WorkerGate } from './support/gate.ts';
import { blank } from './support/pictures.ts';
import { Home, TestServer } from './support/server.ts';

/** The programs of docs/clients, as their readers run them. */

const example = (name: string) => projectPath(`docs/clients/${name}`);

/** What runs each, and the program that it cannot do without. */
const clients: [name: string, command: readonly string[], needs: string][] = [
  ['match.sh', [example('match.sh')], 'curl'],
  ['match-fetch.mjs', [process.execPath, example('match-fetch.mjs')], process.execPath],
  ['match-undici.mjs', [process.execPath, example('match-undici.mjs')], process.execPath],
  ['match.py', ['python3', example('match.py')], 'python3'],
];

/** As the programs have it. */
const maxAttempts = 4;

const photo = (name: string) => projectPath(`node_modules/@vladmandic/face-api/demo/${name}.jpg`);
const folder = mkdtempSync(join(tmpdir(), 'facematch-examples-'));
const files = {
  one: photo('sample1'),
  three: photo('sample3'),
  two: photo('sample2'),
  nobody: join(folder, 'nobody.png'),
  oddly_named: join(folder, 'my; "best", photo\\of=me.jpg'),
};

const home = new Home();
const gate = new WorkerGate(home);
let server: TestServer;
/** Of each client: the next token of `poor` comes after 3 seconds, that of `poorest` after ten minutes. */
const keys = new Map(
  clients.map(([name]) => [
    name,
    { poor: home.key({ rate: 1 / 3, burst: 1 }), poorest: home.key({ rate: 1 / 600, burst: 1 }) },
  ]),
);

beforeAll(async () => {
  writeFileSync(files.nobody, await blank(64, 64, 'png'));
  copyFileSync(files.three, files.oddly_named);
  server = await TestServer.start(
    { env: { ...gate.env, FACEMATCH_QUEUE: '1', FACEMATCH_AUTH_FAILURE_BURST: '1000' } },
    home,
  );
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

interface Run {
  url?: string;
  key?: string;
  args?: readonly string[];
}

function runClient([command, ...before]: readonly string[], { url, key, args }: Run = {}): Promise<Outcome> {
  const env = {
    PATH: process.env.PATH,
    FACEMATCH_URL: url ?? server.address,
    FACEMATCH_KEY: key ?? server.key,
  };
  return new Promise((resolve) => {
    execFile(
      command!,
      [...before, ...(args ?? [files.one, files.three])],
      { env, cwd: folder },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** How often the server has answered with each status since it started. */
async function answered(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [, status, value] of (await server.metrics()).matchAll(
    /^facematch_requests_total\{route="match",status="(\d+)".*\} (\d+)$/gm,
  ))
    counts[status!] = (counts[status!] ?? 0) + Number(value);
  return counts;
}

/** What the server has answered while `act` ran. */
async function answeredDuring(act: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await answered();
  await act();
  const after = Object.entries(await answered());
  return Object.fromEntries(
    after
      .map(([status, count]) => [status, count - (before[status] ?? 0)])
      .filter(([, count]) => count !== 0),
  );
}

/** Takes the only token of a key's bucket. */
async function empty(key: string): Promise<void> {
  expect((await match(server, {}, { key })).status).toBe(400);
}

/** In front of the real server: `meet` may end a connection, otherwise its bytes go through. Counts connections. */
async function proxy(meet: (connection: Socket, count: number) => boolean) {
  let connections = 0;
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    if (meet(socket, connections)) return;
    const onward = connect(server.port, '127.0.0.1');
    onward.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(listener.address() as { port: number }).port}`,
    get connections() {
      return connections;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

/** Ends the connection when the head of the request is there, before any answer. */
function reset(socket: Socket): true {
  socket.once('data', () => socket.resetAndDestroy());
  return true;
}

/** As a gateway answers by itself. */
function answer(socket: Socket, text: string): true {
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    // The closing delimiter of the form: two hyphens behind the boundary.
    if (received.endsWith('--\r\n')) socket.end(text);
  });
  return true;
}

const missing = new Set(
  clients.map(([, , needs]) => needs).filter((needs) => spawnSync(needs, ['--version']).error !== undefined),
);
for (const needs of missing) process.stderr.write(`A client is not run: ${needs} is not installed\n`);

describe.each(clients)('%s', (name, command, needs) => {
  const it = test.skipIf(missing.has(needs));

  it('tells a match, and exits with 0', async () => {
    const { code, stdout, stderr } = await runClient(command);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^match: [\d.]+ % \(the threshold is 70 %\)\n/);
    expect(code).toBe(0);
  });

  it('tells a non-match, and exits with 1', async () => {
    const { code, stdout, stderr } = await runClient(command, { args: [files.one, files.two] });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^no match: [\d.]+ % \(the threshold is 70 %\)\n/);
    expect(code).toBe(1);
  });

  it('tells every warning', async () => {
    const small = join(folder, 'small.png');
    const { default: sharp } = await import('sharp');
    const box = { left: 1400, top: 150, width: 350, height: 380 };
    writeFileSync(small, await sharp(files.one).extract(box).resize(50).blur(1).png().toBuffer());
    const { body } = await match(server, { ...twoPhotos(), image2: await sharp(small).toBuffer() });
    expect(body.warnings.length).toBeGreaterThan(1);
    const { stdout } = await runClient(command, { args: [files.one, small] });
    const lines = body.warnings.map(({ detail }: { detail: string }) => `warning: ${detail}`);
    expect(stdout.trimEnd().split('\n').slice(1)).toEqual(lines);
  });

  it('takes a file by any name', async () => {
    const { code, stderr } = await runClient(command, { args: [files.one, files.oddly_named] });
    expect([code, stderr]).toEqual([0, '']);
  });

  it.each([
    ['a wrong key', () => ({ key: 'fm_wrong' }), '401', /401 invalid_api_key: The key is unknown/],
    [
      'a picture without a face',
      () => ({ args: [files.one, files.nobody] }),
      '422',
      /422 no_face_found: .*image2/,
    ],
    [
      'no picture at all',
      () => ({ args: [files.one, example('README.md')] }),
      '415',
      /415 unsupported_image_format/,
    ],
  ])('shows what is wrong with %s, asks once, and exits with 2', async (_what, options, status, words) => {
    const counts = await answeredDuring(async () => {
      const { code, stdout, stderr } = await runClient(command, options());
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words);
      const id = stderr.match(/\(request_id (\w{26})\)/)![1]!;
      expect(await server.logged(id)).toMatchObject({ status: Number(status) });
    });
    expect(counts).toEqual({ [status]: 1 });
  });

  it.each<[string, Run, RegExp]>([
    ['one picture', { args: [files.one] }, /usage:/],
    ['three pictures', { args: [files.one, files.two, files.three] }, /usage:/],
    ['no key', { key: '' }, /FACEMATCH_KEY/],
    ['a file that is not there', { args: [files.one, 'nowhere.jpg'] }, /nowhere\.jpg/],
    ['an address that is none', { url: 'nowhere' }, /error: ./],
  ])('asks nothing with %s, says so, and exits with 2', async (_what, options, words) => {
    const counts = await answeredDuring(async () => {
      const { code, stdout, stderr } = await runClient(command, options);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words);
      expect(stderr).not.toMatch(/Traceback|^\s+at /m);
    });
    expect(counts).toEqual({});
  });

  it('comes again after 429, and not before Retry-After is over: one refusal, then the answer', async () => {
    const key = keys.get(name)!.poor;
    await empty(key);
    const counts = await answeredDuring(async () => {
      const { code, stderr } = await runClient(command, { key });
      expect(code).toBe(0);
      expect(stderr).toMatch(/^429 rate_limit_exceeded: .*\(request_id \w{26}\); waiting \d+ ms\n$/);
    });
    // Whoever comes too early is refused again.
    expect(counts).toEqual({ 200: 1, 429: 1 });
  });

  it('does not wait when Retry-After asks for longer than is worth it, and does not come too early either', async () => {
    const key = keys.get(name)!.poorest;
    await empty(key);
    const counts = await answeredDuring(async () => {
      const { code, stderr } = await runClient(command, { key });
      expect(code).toBe(2);
      expect(stderr).toMatch(/error: 429 rate_limit_exceeded: .*; it asks to wait \d{3} s\n$/);
    });
    expect(counts).toEqual({ 429: 1 });
  });

  it('comes again after 503, when the queue was full', async () => {
    gate.close();
    const held = [match(server, twoPhotos())];
    await server.metricBecomes('facematch_workers_busy', 1);
    held.push(match(server, twoPhotos()));
    await server.metricBecomes('facematch_queue_depth', 1);
    const overloaded = 'facematch_refusals_total{code="overloaded"}';
    const before = await server.metric(overloaded);
    const running = runClient(command);
    await server.metricBecomes(overloaded, before + 1);
    gate.open();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    const { code, stdout, stderr } = await running;
    expect(stderr).toMatch(/^503 overloaded: .*\(request_id \w{26}\); waiting \d+ ms\n/);
    expect([code, stdout.split(':')[0]]).toEqual([0, 'match']);
  });
});

// They count connections of their own, and so may wait side by side.
describe.concurrent.each(clients)('%s', (_name, command, needs) => {
  const it = test.skipIf(missing.has(needs));

  it('comes again when the connection is reset before an answer', async () => {
    const through = await proxy((socket, count) => count === 1 && reset(socket));
    const { code, stdout, stderr } = await runClient(command, { url: through.url });
    through.close();
    expect(stderr).toMatch(/^.+; waiting \d+ ms\n$/);
    expect([code, stdout.split(':')[0]]).toEqual([0, 'match']);
    expect(through.connections).toBe(2);
  });

  it('gives up when every connection is reset', async () => {
    const through = await proxy(reset);
    const { code, stdout, stderr } = await runClient(command, { url: through.url });
    through.close();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(new RegExp(`error: .*; gave up after ${maxAttempts} attempts\n$`));
    expect(through.connections).toBe(maxAttempts);
  });

  it('gives up when nobody listens', async () => {
    const closed = await proxy(reset);
    closed.close();
    const { code, stderr } = await runClient(command, { url: closed.url });
    expect(code).toBe(2);
    expect(stderr.match(/; waiting/g)).toHaveLength(maxAttempts - 1);
  });

  it.each([
    [
      '502 of a gateway',
      'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 12\r\n\r\n<h1>Oops</h1',
      /error: 502.*/,
    ],
    ['200 that is no answer', 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n<h1>Hello</h', /error: ./],
  ])('takes a %s for an error, and asks once', async (_what, text, words) => {
    const through = await proxy((socket) => answer(socket, text));
    const { code, stdout, stderr } = await runClient(command, { url: through.url });
    through.close();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(through.connections).toBe(1);
  });
});

test('the examples in JavaScript agree with the types', async () => {
  const tsc = projectPath('node_modules/typescript/bin/tsc');
  const strict = [
    '--ignoreConfig',
    '--strict',
    '--useUnknownInCatchVariables',
    'false',
    '--noEmit',
    '--skipLibCheck',
  ];
  const check = ['--allowJs', '--checkJs', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
  const sources = ['match-fetch.mjs', 'match-undici.mjs'].map((name) => `docs/clients/${name}`);
  const { status, stdout } = spawnSync(process.execPath, [tsc, ...strict, ...check, ...sources], {
    cwd: projectPath('.'),
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});
