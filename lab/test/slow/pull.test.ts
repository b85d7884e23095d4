import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { zipSync } from 'fflate';
import { createTarGzip } from 'nanotar';
import { afterAll, describe, expect, test } from 'vitest';
import { readManifest } from '../../../src/engine/manifest.ts';
import { smallEmbedder } from '../../../test/fixtures/nets.ts';
import { expectFailure, facematch } from '../../../test/server/support/cli.ts';
import { newFolder } from '../../../test/support/folder.ts';
import { download, pathOf, proxies } from '../../download.ts';
import { catalogue, type PublishedPack } from '../../packs/catalogue.ts';
import { pullPack } from '../../packs/pull.ts';
import { lfw, openSets } from '../../published-sets.ts';
import { cutOff, inBits, publish, type Responder, ranged, whole } from '../support/publishers.ts';

/**
 * Tests published packs and sets. A local server has a small model with SFace's shapes and a small archive of people.
 */

const net = Buffer.from(smallEmbedder());
const images = ['Ann_A/Ann_A_0001.jpg', 'Ann_A/Ann_A_0002.jpg', 'Ann_A/Ann_A_0003.jpg', 'Bo_B/Bo_B_0001.jpg'];
const others = [
  '../Ann_A_0001.jpg',
  'Ann_A/../../Ann_A_0001.jpg',
  '../../.._0001.jpg',
  'README',
  'Bo_B/Ann_A_0001.jpg',
];
const people = [...images, ...others].map((name) => ({ name: `lfw/${name}`, data: `${name}, `.repeat(500) }));
const { asked, port, respondWith, downloadOf, close } = await publish({
  '/net.onnx': net,
  '/nets.zip': Buffer.from(zipSync({ 'folder/readme.txt': Buffer.from('no net'), 'folder/net.onnx': net })),
  '/lfw.tgz': Buffer.from(await createTarGzip(people)),
});
afterAll(() => void close());
const half = Math.floor(net.length / 2);

const page = Buffer.alloc(300_000, '<p>');
const portal: Responder = (_file, _request, response) =>
  response.writeHead(200, { 'content-type': 'text/html', 'content-length': 6 }).end('<html>');
const portalInBits: Responder = (_file, _request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).write('<html>');
  response.end();
};
const rejectsRanges: Responder = (_file, _request, response) => response.writeHead(416).end(page);
/** Redirects to another host, which responds with `then`. */
const redirectsTo =
  (then: Responder): Responder =>
  (file, request, response) =>
    request.headers.host!.startsWith('localhost')
      ? then(file, request, response)
      : response.writeHead(302, { location: `http://localhost:${port}/net.onnx` }).end();

const embedder = downloadOf('/net.onnx');
const published: PublishedPack = {
  description: 'of the test',
  licence: 'MIT',
  project: 'the test',
  nets: { embedder },
  how: { preprocessing: 'sface' },
};
const archive = downloadOf('/nets.zip');
const zipped: PublishedPack = {
  ...published,
  nets: { embedder: { archive, member: 'net.onnx', sha256: embedder.sha256 } },
};

const pull = (folder: string, pack = published) =>
  pullPack(pack, join(folder, 'mine'), join(folder, 'cache'));
/** Runs only the download of pull(), without the checks of the model, which take seconds. */
const fetchNet = (folder: string) => download(embedder, join(folder, 'cache'));

describe('facematch packs pull', () => {
  test.each<[string, PublishedPack, Responder]>([
    ['a net', published, whole],
    ['a net sent in small pieces', published, inBits],
    ['a net in an archive', zipped, whole],
  ])('makes a pack of %s', async (_, pack, how) => {
    respondWith(how);
    const folder = newFolder();
    await pull(folder, pack);
    const draft = readManifest(join(folder, 'mine'));
    expect(draft).toMatchObject({
      source: { project: 'the test', licence: 'MIT' },
      embedder: { from: 'net.onnx', sha256: embedder.sha256, dimensions: 128 },
    });
    expect(readFileSync(join(folder, 'mine', 'embed.onnx'))).toEqual(net);
  });

  test.each<[string, Responder]>([
    ['resumes it', ranged],
    ['starts again if the server does not support ranges', whole],
  ])('keeps an interrupted download, and the next run %s', async (_, then) => {
    const folder = newFolder();
    mkdirSync(join(folder, 'cache'));
    respondWith(cutOff(join(folder, 'cache')));
    await expect(pull(folder)).rejects.toThrow(/run the command again/i);
    expect(existsSync(join(folder, 'mine'))).toBe(false);
    respondWith(then);
    await pull(folder);
    expect(asked).toEqual([`/net.onnx bytes=${half}-`]);
    expect(existsSync(join(folder, 'mine', 'manifest.json'))).toBe(true);
  });

  const notHttps = /redirects to http:.*, which is not HTTPS/;
  const status = (code: number, body?: Buffer): Responder => {
    return (_file, _request, response) => response.writeHead(code).end(body);
  };
  test.each<[string, Responder, Partial<typeof embedder>, RegExp]>([
    ['other bytes', status(200, Buffer.alloc(net.length)), {}, /SHA-256 .* The file was discarded/],
    ['too many bytes', whole, { bytes: 100 }, /has \d+ bytes instead of 100/],
    ['too many bytes without Content-Length', inBits, { bytes: 100 }, /more than the expected 100 bytes/],
    ['an error', status(404), {}, /responded with status 404/],
    // The page is longer than what a client buffers before reading it.
    ['a long error page', status(404, page), {}, /responded with status 404/],
    ['a login page', portal, {}, /text\/html, so it may be the login page of your network/],
    ['a login page without Content-Length', portalInBits, {}, /has 6 bytes instead of/],
    ['a redirect to a URL that is not HTTPS', redirectsTo(whole), {}, notHttps],
    ['a redirect to a long page that is not HTTPS', redirectsTo(status(200, page)), {}, notHttps],
  ])('makes no pack for %s, and reports why', async (_, how, change, message) => {
    respondWith(how);
    const folder = newFolder();
    const nets = { embedder: { ...embedder, ...change } };
    const fault = await pull(folder, { ...published, nets }).catch((error: Error) => error);
    expect((fault as Error).message).toMatch(message);
    expect((fault as Error).message).not.toContain('kept');
    expect(readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile())).toEqual(
      [],
    );
  });

  test.each<[string, Responder]>([
    ['a login page', portal],
    ['a login page without Content-Length', portalInBits],
    ['an error', status(503)],
  ])('keeps the downloaded part after %s', async (_, how) => {
    const folder = newFolder();
    const path = pathOf(join(folder, 'cache'), embedder);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.part`, net.subarray(0, half));
    respondWith(how);
    await expect(fetchNet(folder)).rejects.toThrow(`${half} of ${net.length} bytes are kept`);
    respondWith(ranged);
    await fetchNet(folder);
    expect(asked).toEqual([`/net.onnx bytes=${half}-`]);
  });

  test.each<[string, Buffer, Responder[]]>([
    ['of another file', Buffer.from('<html>'), [ranged, whole]],
    ['that the server does not continue', net.subarray(0, half), [rejectsRanges, whole]],
  ])('discards a partial download %s, and starts again in the same run', async (_, beginning, responders) => {
    const folder = newFolder();
    const path = pathOf(join(folder, 'cache'), embedder);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.part`, beginning);
    respondWith((...request) => responders.shift()!(...request));
    await fetchNet(folder);
    expect(asked).toEqual([`/net.onnx bytes=${beginning.length}-`, '/net.onnx']);
  });

  test('lets one command at a time download a file, and ignores the lock of a killed command', async () => {
    const folder = newFolder();
    let first: Promise<unknown> | undefined;
    const begun = new Promise<void>((resolve) => {
      respondWith((...request) => {
        resolve();
        whole(...request);
      });
      first = fetchNet(folder);
    });
    await expect(
      begun.then(() => pullPack(published, join(folder, 'other'), join(folder, 'cache'))),
    ).rejects.toThrow(`Another process (${process.pid}) is downloading`);
    await first;
    const { pid } = spawnSync(process.execPath, ['--version']);
    const path = pathOf(join(folder, 'cache'), embedder);
    rmSync(path);
    writeFileSync(`${path}.lock`, String(pid));
    await fetchNet(folder);
  });

  test('rejects an existing name before anything is downloaded', async () => {
    respondWith(whole);
    const folder = newFolder();
    mkdirSync(join(folder, 'mine'));
    await expect(pull(folder)).rejects.toThrow(/already exists/);
    expect(asked).toEqual([]);
  });

  test('accepts only listed names, and requires the user to accept a restrictive licence', async () => {
    const folder = newFolder();
    expect((await facematch('packs pull', folder)).stdout).toContain('buffalo_l: ');
    expectFailure(await facematch('packs pull nobody', folder), 2, 'sface');
    expectFailure(await facematch('packs pull buffalo_l', folder), 2, '--accept-licence non-commercial');
  });
});

describe('a published set', () => {
  const own = { ...lfw, archive: downloadOf('/lfw.tgz') };
  const open = (cache: string, text = 'lfw', set = own) => openSets(text, set, cache);

  test('is unpacked to at most two images per person, and nothing else of the archive', async () => {
    respondWith(inBits);
    const cache = newFolder();
    const [set, ...more] = await open(cache, 'lfw,./staff');
    expect(set).toMatchObject({ name: 'lfw', title: 'Labeled Faces in the Wild', about: own.about });
    expect(more).toEqual([{ name: 'own1-staff', folder: './staff' }]);
    const files = readdirSync(set!.folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.includes('/'),
    );
    expect(files.sort()).toEqual([images[0], images[1], images[3]]);
    expect(readFileSync(join(set!.folder, images[1]!), 'utf8')).toContain('Ann_A_0002.jpg, ');
    expect(readdirSync(cache)).toHaveLength(1);
    respondWith(inBits);
    expect(await open(cache)).toEqual([set]);
    expect(asked).toEqual([]);
  });

  test('fails if it has no images in the expected place', async () => {
    respondWith(whole);
    await expect(open(newFolder(), 'lfw', { ...own, image: /^none()()$/ })).rejects.toThrow(
      'does not contain the expected images',
    );
  });

  test('must have a known name', async () => {
    await expect(openSets('unknown')).rejects.toThrow('Unknown published set unknown; the only one is lfw.');
  });
});

test('lists only HTTPS URLs and SHA-256 hashes of published files', () => {
  const text = JSON.stringify([catalogue, lfw]);
  expect(text.match(/"url":"(?!https:)/g)).toBeNull();
  expect(text.match(/"sha256":"(?![0-9a-f]{64}")/g)).toBeNull();
});

test.each<[what: string, env: NodeJS.ProcessEnv, found: ReturnType<typeof proxies>]>([
  ['none', { NO_PROXY: 'example.org' }, undefined],
  [
    'an HTTP proxy without a scheme, as curl accepts it',
    { HTTP_PROXY: 'proxy:3128', no_proxy: 'a,b' },
    { httpProxy: 'http://proxy:3128', httpsProxy: '', noProxy: 'a,b' },
  ],
  [
    'an HTTPS proxy with its scheme, the lower-case variable first',
    { https_proxy: 'https://user@proxy', HTTPS_PROXY: 'other:1' },
    { httpProxy: '', httpsProxy: 'https://user@proxy', noProxy: '' },
  ],
])('uses the proxies of the environment: %s', (_what, env, found) => {
  expect(proxies(env)).toEqual(found);
});
