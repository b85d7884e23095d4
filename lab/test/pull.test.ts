import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { zipSync } from 'fflate';
import { afterAll, describe, expect, test } from 'vitest';
import { readManifest } from '../../src/engine/manifest.ts';
import { sha256 } from '../../src/engine/pack-files.ts';
import { expectFailure, facematch } from '../../test/server/support/cli.ts';
import { smallEmbedder } from '../../test/slow/model/support/small-embedder.ts';
import { newFolder } from '../../test/support/folder.ts';
import { pathOf } from '../download.ts';
import { catalogue, type PublishedPack } from '../packs/catalogue.ts';
import { pullPack } from '../packs/pull.ts';

/** Published packs, from a server on loopback with a small net of SFace's shapes. */

const net = Buffer.from(smallEmbedder());
const archive = Buffer.from(zipSync({ 'folder/readme.txt': Buffer.from('no net'), 'folder/net.onnx': net }));
const files: Record<string, Buffer> = { '/net.onnx': net, '/nets.zip': archive };
const half = Math.floor(net.length / 2);

/** What it does with requests, and the ranges that it was asked for. */
let answer: RequestListener = () => {};
const ranges: (string | undefined)[] = [];
const server = createServer((request, response) => {
  ranges.push(request.headers.range);
  answer(request, response);
}).listen(0);
await new Promise((resolve) => server.once('listening', resolve));
afterAll(() => server.close());
const { port } = server.address() as AddressInfo;
const address = `http://127.0.0.1:${port}`;

const whole: RequestListener = ({ url }, response) => response.end(files[url!]);
const ranged: RequestListener = ({ headers, url }, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? 'bytes=0-')![1]);
  response.writeHead(headers.range === undefined ? 200 : 206).end(files[url!]!.subarray(from));
};
let cutOff = () => {};
const cut: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-length': net.length }).write(net.subarray(0, half));
  // Once the client has them.
  cutOff = () => response.destroy();
};
const page = Buffer.alloc(300_000, '<p>');
const portal: RequestListener = (_, response) =>
  response.writeHead(200, { 'content-type': 'text/html', 'content-length': 6 }).end('<html>');
const portalInBits: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).write('<html>');
  response.end();
};
const refusesRanges: RequestListener = (_, response) => response.writeHead(416).end(page);
const inBits: RequestListener = async (_, response) => {
  for (let at = 0; at < net.length; at += 4096) {
    await new Promise<void>((resolve) => response.write(net.subarray(at, at + 4096), () => resolve()));
  }
  response.end();
};

const embedder = { url: `${address}/net.onnx`, bytes: net.length, sha256: sha256(net) };
const published: PublishedPack = {
  description: 'of the test',
  licence: 'MIT',
  project: 'the test',
  nets: { embedder },
  how: { feeding: 'sface' },
};
const nets = { url: `${address}/nets.zip`, bytes: archive.length, sha256: sha256(archive) };
const zipped: PublishedPack = {
  ...published,
  nets: { embedder: { archive: nets, member: 'net.onnx', sha256: sha256(net) } },
};

const pull = (folder: string, pack = published, onProgress = (_: number) => {}) =>
  pullPack(pack, { target: join(folder, 'mine'), folder: join(folder, 'cache'), onProgress });

describe('facematch packs pull', () => {
  test.each<[string, PublishedPack, RequestListener]>([
    ['a net', published, whole],
    ['a net that comes in bits', published, inBits],
    ['a net in an archive', zipped, whole],
  ])('makes a pack of %s, and tells how far it is', async (_, pack, how) => {
    answer = how;
    const folder = newFolder();
    const seen: number[] = [];
    await pull(folder, pack, (bytes) => seen.push(bytes));
    const draft = readManifest(join(folder, 'mine'));
    expect(draft).toMatchObject({
      source: { project: 'the test', licence: 'MIT' },
      embedder: { from: 'net.onnx', sha256: sha256(net), dimensions: 128 },
    });
    expect(readFileSync(join(folder, 'mine', 'embed.onnx'))).toEqual(net);
    expect(seen.at(-1)).toBe(pack === zipped ? archive.length : net.length);
  });

  test.each<[string, RequestListener, string | undefined]>([
    ['goes on where it was', ranged, `bytes=${half}-`],
    ['begins anew where the server knows no ranges', whole, `bytes=${half}-`],
  ])('what was cut off is kept, and the next run %s', async (_, then, range) => {
    const folder = newFolder();
    answer = cut;
    await expect(pull(folder, published, () => cutOff())).rejects.toThrow(/run the command again/i);
    expect(existsSync(join(folder, 'mine'))).toBe(false);
    ranges.length = 0;
    answer = then;
    await pull(folder);
    expect(ranges).toEqual([range]);
    expect(existsSync(join(folder, 'mine', 'manifest.json'))).toBe(true);
  });

  const elsewhere = { location: `http://localhost:${port}/net.onnx` };
  test.each<[string, RequestListener, Partial<typeof embedder>, RegExp]>([
    [
      'other bytes',
      (_, response) => response.end(Buffer.alloc(net.length)),
      {},
      /SHA-256 .*: it is not used/,
    ],
    ['too many bytes', whole, { bytes: 100 }, /has \d+ bytes, not the 100/],
    ['too many bytes, unannounced', inBits, { bytes: 100 }, /more than the 100 bytes/],
    ['an error', (_, response) => response.writeHead(404).end(), {}, /answered 404/],
    // More than a client takes before somebody reads it.
    ['a long page of an error', (_, response) => response.writeHead(404).end(page), {}, /answered 404/],
    ['the page of a login', portal, {}, /text\/html: is it the page of a network that wants a login/],
    ['the page of a login, of no stated length', portalInBits, {}, /has 6 bytes, not the/],
    [
      'a way to an address that is not HTTPS',
      (request, response) =>
        request.headers.host!.startsWith('localhost')
          ? whole(request, response)
          : response.writeHead(302, elsewhere).end(),
      {},
      /leads to http:.*, which is not HTTPS/,
    ],
    [
      'a way to a long page that is not HTTPS',
      (request, response) =>
        request.headers.host!.startsWith('localhost')
          ? response.end(page)
          : response.writeHead(302, elsewhere).end(),
      {},
      /leads to http:.*, which is not HTTPS/,
    ],
  ])('%s makes no pack, and says why', async (_, how, change, message) => {
    answer = how;
    const folder = newFolder();
    const nets = { embedder: { ...embedder, ...change } };
    const fault = await pull(folder, { ...published, nets }).catch((error: Error) => error);
    expect((fault as Error).message).toMatch(message);
    expect((fault as Error).message).not.toContain('kept');
    expect(readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile())).toEqual(
      [],
    );
  });

  test.each<[string, Buffer, RequestListener[]]>([
    ['of another file', Buffer.from('<html>'), [ranged, whole]],
    ['that the server does not continue', net.subarray(0, half), [refusesRanges, whole]],
  ])('a beginning %s is given up in the same run', async (_, beginning, answers) => {
    const folder = newFolder();
    const path = pathOf(join(folder, 'cache'), embedder);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.part`, beginning);
    ranges.length = 0;
    answer = (request, response) => answers.shift()!(request, response);
    await pull(folder);
    expect(ranges).toEqual([`bytes=${beginning.length}-`, undefined]);
  });

  test('one command at a time downloads a file, and one that was killed is in nobody’s way', async () => {
    const folder = newFolder();
    let first: Promise<unknown> | undefined;
    const begun = new Promise<void>((resolve) => {
      answer = (request, response) => {
        resolve();
        whole(request, response);
      };
      first = pull(folder);
    });
    await expect(
      begun.then(() => pullPack(published, { target: join(folder, 'other'), folder: join(folder, 'cache') })),
    ).rejects.toThrow(`by process ${process.pid}`);
    await first;
    const { pid } = spawnSync(process.execPath, ['--version']);
    rmSync(join(folder, 'mine'), { recursive: true });
    const path = pathOf(join(folder, 'cache'), embedder);
    rmSync(path);
    writeFileSync(`${path}.lock`, String(pid));
    await pull(folder);
  });

  test('a name that is taken is told before anything is downloaded', async () => {
    answer = whole;
    const folder = newFolder();
    await pull(folder);
    ranges.length = 0;
    rmSync(join(folder, 'cache'), { recursive: true });
    await expect(pull(folder)).rejects.toThrow(/is there already/);
    expect(ranges).toEqual([]);
  });

  test('a name is one of the list, and a licence that allows less is accepted first', async () => {
    const folder = newFolder();
    expect((await facematch('packs pull', folder)).stdout).toContain('buffalo_l: ');
    expectFailure(await facematch('packs pull nobody', folder), 2, 'sface');
    expectFailure(await facematch('packs pull buffalo_l', folder), 2, '--accept-licence non-commercial');
  });

  test('every address of the list is HTTPS, and every hash a SHA-256', () => {
    const text = JSON.stringify(catalogue);
    expect(text.match(/"url":"(?!https:)/g)).toBeNull();
    expect(text.match(/"sha256":"(?![0-9a-f]{64}")/g)).toBeNull();
  });
});
