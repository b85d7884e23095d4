import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { newFolder } from '../support/folder.ts';
import { match, twoPhotos } from './support/client.ts';
import {
  clients,
  example,
  missing,
  photos,
  type Run,
  runClient as runProgram,
} from './support/client-programs.ts';
import { WorkerGate } from './support/gate.ts';
import { blank } from './support/pictures.ts';
import { Home, TestServer } from './support/server.ts';

/** The programs of docs/clients, as their readers run them. */

const folder = newFolder();
const files = {
  ...photos,
  nobody: join(folder, 'nobody.png'),
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
  server = await TestServer.start(
    { env: { ...gate.env, FACEMATCH_QUEUE: '1', FACEMATCH_AUTH_FAILURE_BURST: '1000' } },
    home,
  );
});
afterAll(async () => {
  await server.stop();
});

const runClient = (command: readonly string[], options: Partial<Run> = {}) =>
  runProgram(command, { url: server.address, key: server.key, ...options });

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

  it.each<[string, Partial<Run>, RegExp]>([
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
    const overloaded = 'facematch_refusals_total{reason="load",code="overloaded"}';
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
