import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.ts';
import { execute } from './support/cli.ts';
import { empty, match, twoPhotos } from './support/client.ts';
import { example, isInstalled, photos } from './support/client-programs.ts';
import { WorkerGate } from './support/gate.ts';
import { blank } from './support/pictures.ts';
import { answer, proxy, reset } from './support/proxy.ts';
import { Home, TestServer } from './support/server.ts';

/** docs/clients/match.sh, as its readers run it. */

const folder = newFolder();
const files = { ...photos, nobody: join(folder, 'nobody.png') };

const home = new Home();
const gate = new WorkerGate(home);
/** The next token of the first comes after 3 seconds, that of the second after ten minutes. */
const poor = home.key({ rate: 1 / 3, burst: 1 });
const poorest = home.key({ rate: 1 / 600, burst: 1 });
writeFileSync(files.nobody, await blank(64, 64, 'png'));
const server = await TestServer.forFile({ env: { ...gate.env, FACEMATCH_QUEUE: '1' } }, home);

interface Run {
  url?: string;
  key?: string;
  args?: readonly string[];
}

/** With the photos of a match unless told otherwise. */
function runClient({ url = server.address, key = server.key, args = [files.one, files.three] }: Run = {}) {
  const env = { PATH: process.env.PATH, FACEMATCH_URL: url, FACEMATCH_KEY: key };
  return execute(example('match.sh'), args, folder, env);
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

describe.skipIf(!isInstalled('curl'))('match.sh', () => {
  test.each([
    ['a match', 0, [files.one, files.three], /^match: [\d.]+ % \(the threshold is 70 %\)\n/],
    ['a non-match', 1, [files.one, files.two], /^no match: [\d.]+ % \(the threshold is 70 %\)\n/],
  ])('tells %s, and exits with %i', async (_what, exit, args, words) => {
    // Slashes at the end of the address count for nothing.
    const { code, stdout, stderr } = await runClient({ args, url: `${server.address}//` });
    expect([code, stderr]).toEqual([exit, '']);
    expect(stdout).toMatch(words);
  });

  test.each<[string, Run, string, RegExp]>([
    ['a wrong key', { key: 'fm_wrong' }, '401', /401 invalid_api_key: The key is unknown/],
    ['a picture without a face', { args: [files.one, files.nobody] }, '422', /422 no_face_found: .*image2/],
  ])('shows what is wrong with %s, asks once, and exits with 2', async (_what, options, status, words) => {
    const counts = await answeredDuring(async () => {
      const { code, stdout, stderr } = await runClient(options);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words);
      const id = stderr.match(/\(request_id (\w{26})\)/)![1]!;
      expect(await server.logged(id)).toMatchObject({ status: Number(status) });
    });
    expect(counts).toEqual({ [status]: 1 });
  });

  test.each<[string, Run, RegExp]>([
    ['one picture', { args: [files.one] }, /usage:/],
    ['three pictures', { args: [files.one, files.two, files.three] }, /usage:/],
    ['no key', { key: '' }, /FACEMATCH_KEY/],
    ['a file that is not there', { args: [files.one, 'nowhere.jpg'] }, /nowhere\.jpg/],
    ['an address that is none', { url: 'nowhere' }, /error: ./],
  ])('asks nothing with %s, says so, and exits with 2', async (_what, options, words) => {
    const counts = await answeredDuring(async () => {
      const { code, stdout, stderr } = await runClient(options);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words);
    });
    expect(counts).toEqual({});
  });

  test('comes again after 429, and not before Retry-After is over: one refusal, then the answer', async () => {
    await empty(server, poor);
    const counts = await answeredDuring(async () => {
      const { code, stderr } = await runClient({ key: poor });
      expect(code).toBe(0);
      expect(stderr).toMatch(/^429 rate_limit_exceeded: .*\(request_id \w{26}\); waiting \d+ ms\n$/);
    });
    // Whoever comes too early is refused again.
    expect(counts).toEqual({ 200: 1, 429: 1 });
  });

  test('does not wait when Retry-After asks for longer than is worth it', async () => {
    await empty(server, poorest);
    const counts = await answeredDuring(async () => {
      const { code, stderr } = await runClient({ key: poorest });
      expect(code).toBe(2);
      expect(stderr).toMatch(/error: 429 rate_limit_exceeded: .*; it asks to wait \d{3} s\n$/);
    });
    expect(counts).toEqual({ 429: 1 });
  });

  test('comes again after 503, when the queue was full', async () => {
    gate.close();
    const held = [match(server, twoPhotos())];
    await server.metricBecomes('facematch_workers_busy', 1);
    held.push(match(server, twoPhotos()));
    await server.metricBecomes('facematch_queue_depth', 1);
    const overloaded = 'facematch_refusals_total{reason="load",code="overloaded"}';
    const before = await server.metric(overloaded);
    const running = runClient();
    await server.metricBecomes(overloaded, before + 1);
    gate.open();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    const { code, stdout, stderr } = await running;
    expect(stderr).toMatch(/^503 overloaded: .*\(request_id \w{26}\); waiting \d+ ms\n/);
    expect([code, stdout.split(':')[0]]).toEqual([0, 'match']);
  });

  test('comes again when the connection is reset before an answer', async () => {
    const through = await proxy(server.port, (socket, count) => count === 1 && reset(socket));
    const { code, stdout, stderr } = await runClient({ url: through.url });
    through.close();
    expect(stderr).toMatch(/^.+; waiting \d+ ms\n$/);
    expect([code, stdout.split(':')[0]]).toEqual([0, 'match']);
    expect(through.connections).toBe(2);
  });

  test('gives up after four attempts when every connection is reset', async () => {
    const through = await proxy(server.port, reset);
    const { code, stdout, stderr } = await runClient({ url: through.url });
    through.close();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/error: .*; gave up after 4 attempts\n$/);
    expect(through.connections).toBe(4);
  });

  test.each([
    [
      '502 of a gateway',
      'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 12\r\n\r\n<h1>Oops</h1',
      /error: 502.*/,
    ],
    ['200 that is no answer', 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n<h1>Hello</h', /error: ./],
  ])('takes a %s for an error, and asks once', async (_what, text, words) => {
    const through = await proxy(server.port, (socket) => answer(socket, text));
    const { code, stdout, stderr } = await runClient({ url: through.url });
    through.close();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(through.connections).toBe(1);
  });
});
