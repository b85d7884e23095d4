import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { blank, samples } from '../../fixtures/images.ts';
import { RawClient, twoPhotos } from '../../server/support/client.ts';
import { Home, idOf, pause, TestServer } from '../../server/support/server.ts';

/** Tests that no part of a request is stored: no file is written, and the log contains none of its data. */

const hasStrace = spawnSync('strace', ['--version']).status === 0;
if (!hasStrace)
  console.warn('Skipped the check of opened files: strace is not installed (Debian package strace)');

/** System calls that create, open or change a file. */
const calls = [
  ...['open', 'openat', 'openat2', 'creat', 'truncate', 'memfd_create'],
  ...['mkdir', 'mkdirat', 'mknod', 'mknodat', 'link', 'linkat', 'symlink', 'symlinkat'],
  ...['rename', 'renameat', 'renameat2'],
];

/** With `-D`, the traced program is a child of this process, and the tracer runs detached. */
const strace = (file: string) => [
  'strace',
  ...['-D', '-f', '--seccomp-bpf', '-s', '4096', '-o', file],
  ...['-e', `trace=${calls.map((call) => `?${call}`).join()}`],
];

/** Resolves to the trace when the tracer has recorded that the process exited. */
async function traceOf(file: string, pid: number): Promise<string[]> {
  const text = () => readFileSync(file, 'utf8');
  const end = new RegExp(`^${pid} +\\+\\+\\+ (exited|killed)`, 'm');
  while (!end.test(text())) await pause();
  return text().split('\n');
}

/** Returns the successful calls that created a file or opened one for writing. */
function writes(trace: readonly string[]): string[] {
  return trace.filter((line) => {
    const call = /^\d+ +(?:<\.\.\. )?(\w+)/.exec(line)?.[1];
    if (call === undefined || !calls.includes(call) || / = -1 /.test(line)) return false;
    const opens = /^open/.test(call);
    return !opens || /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE/.test(line);
  });
}

/** Devices, not files, that Node opens for writing when it starts. */
const noFiles = /"\/dev\/(null|tty)"/;

const home = new Home();
const traceFile = join(home.folder, 'trace');
const secretName = 'name-of-a-file-on-the-disk-of-the-client.jpg';
const rounds = 20;
let server: TestServer;
let trace: string[] = [];
const statuses: Record<number, number> = {};

beforeAll(async () => {
  server = await TestServer.start(hasStrace ? { under: strace(traceFile) } : {}, home);
  const pid = server.child.pid!;
  const large = Buffer.concat([samples.one, Buffer.alloc(6_000_000)]);
  const faceless = await blank(64, 64, 'png');
  const named = new FormData();
  named.append('image1', new Blob([samples.one as Uint8Array<ArrayBuffer>]), secretName);
  named.append('image2', new Blob(['no image']), secretName);
  /** The requests of each round: successful, rejected at every stage, and abandoned by the client. */
  const kinds: (() => Promise<{ status: number } | undefined>)[] = [
    () => server.match(twoPhotos()),
    () => server.match({ image1: faceless, image2: faceless }),
    () => server.match({ ...twoPhotos(), image2: samples.three.subarray(0, 9000) }),
    () => server.match({ image1: samples.one, image2: 'GIF89a' }),
    () => server.match({ ...twoPhotos(), threshold_percent: 'secret-value' }),
    () => server.match({ 'secret-field': 'secret-value' }),
    () => server.match(twoPhotos(), { key: `${server.key.slice(0, -1)}!` }),
    () => server.getModels(),
    () => server.send({ body: named }),
    async () => {
      const client = new RawClient(server.port);
      client.socket.write(server.photoRequest().subarray(0, 300_000), () => client.leave());
      await client.closed;
      return undefined;
    },
  ];
  for (let round = 0; round < rounds; round++) {
    const responses = await Promise.all(kinds.map((kind) => kind()));
    for (const response of responses) {
      if (response) statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    }
    // Other servers would store such a body in a temporary file.
    if (round % 10 === 0) await server.match({ image1: large, image2: samples.one });
  }
  await server.stop();
  if (hasStrace) trace = await traceOf(traceFile, pid);
}, 180_000);

test('responds to requests of every kind', () => {
  const twice = 2 * rounds;
  expect(statuses).toEqual({ 200: twice, 400: twice, 401: rounds, 415: twice, 422: twice });
});

describe.skipIf(!hasStrace)('a trace of the server from startup to shutdown', () => {
  test('shows that it read its keys and its models', () => {
    const seen = trace.join('\n');
    expect(seen).toMatch(/keys\.json", O_RDONLY/);
    expect(seen).toMatch(/\.onnx", O_RDONLY/);
    expect(trace.some((line) => line.includes('+++ exited with 0 +++'))).toBe(true);
  });

  test('shows no file that was created or opened for writing', () => {
    expect(writes(trace).filter((line) => !noFiles.test(line))).toEqual([]);
  });
});

describe('the log of these requests', () => {
  const log = () => server.stderr.join('\n');

  test('contains neither the key nor its secret, and names the key by its id', () => {
    expect(log()).not.toContain(server.key);
    expect(log()).not.toContain(server.key.split('_')[2]);
    expect(log()).toContain(`"key_id":"${idOf(server.key)}"`);
  });

  test.each(['latin1', 'hex', 'base64', 'base64url'] as const)('contains no image as %s', (encoding) => {
    for (const image of Object.values(samples)) {
      // Tries consecutive offsets, because base64 encodes groups of three bytes.
      for (const start of [0, 1, 2, 3, 600, 601, 602]) {
        expect(log()).not.toContain(image.toString(encoding, start, start + 24).replace(/=+$/, ''));
      }
    }
  });

  test('contains no row of numbers that could be an embedding', () => {
    expect(log()).not.toMatch(/-?\d\.\d+(,\s*-?\d\.\d+){7}/);
    expect(log()).not.toMatch(/embedding|Float32Array/);
  });

  test('contains no path, no file name, and no other text from the client', () => {
    for (const secret of [home.folder, projectPath('.'), secretName, 'secret-field', 'secret-value']) {
      expect(log()).not.toContain(secret);
    }
  });
});
