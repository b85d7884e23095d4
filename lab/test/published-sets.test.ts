import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createTarGzip } from 'nanotar';
import { afterAll, describe, expect, test } from 'vitest';
import { sha256 } from '../../src/engine/pack-files.ts';
import { newFolder } from '../../test/support/folder.ts';
import { openSets } from '../commands/open-sets.ts';
import { type PublishedSet, publishedSets } from '../published-sets.ts';

/** A published set, from a server on loopback with a small archive of the same shape. */

const images = ['Ann_A/Ann_A_0001.jpg', 'Ann_A/Ann_A_0002.jpg', 'Ann_A/Ann_A_0003.jpg', 'Bo_B/Bo_B_0001.jpg'];
const others = [
  '../Ann_A_0001.jpg',
  'Ann_A/../../Ann_A_0001.jpg',
  '../../.._0001.jpg',
  'README',
  'Bo_B/Ann_A_0001.jpg',
];
const archive = Buffer.from(
  await createTarGzip(
    [...images, ...others].map((name) => ({ name: `lfw/${name}`, data: `${name}, `.repeat(500) })),
  ),
);
const half = Math.floor(archive.length / 2);

let answer: RequestListener = () => {};
const ranges: (string | undefined)[] = [];
const server = createServer((request, response) => {
  ranges.push(request.headers.range);
  answer(request, response);
}).listen(0);
await new Promise((resolve) => server.once('listening', resolve));
afterAll(() => server.close());
const { port } = server.address() as AddressInfo;

const own: PublishedSet = {
  ...publishedSets.lfw!,
  archive: { url: `http://127.0.0.1:${port}/lfw.tgz`, bytes: archive.length, sha256: sha256(archive) },
};
const open = (cache: string, text = 'lfw', set = own) => openSets(text, { lfw: set }, cache);

const whole: RequestListener = (_, response) => response.end(archive);
const ranged: RequestListener = ({ headers }, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range!)![1]);
  response.writeHead(206).end(archive.subarray(from));
};
const slow: RequestListener = async (_, response) => {
  for (let at = 0; at < archive.length; at += 100)
    await new Promise<void>((resolve) => response.write(archive.subarray(at, at + 100), () => resolve()));
  response.end();
};
const cut: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-length': archive.length });
  response.write(archive.subarray(0, half), () => response.destroy());
};

describe('a published set', () => {
  test.each([
    ['at once', whole],
    ['slowly', slow],
  ])('that comes %s is unpacked: two images of a person, and nothing else of the archive', async (_, how) => {
    answer = how;
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
    ranges.length = 0;
    expect(await open(cache)).toEqual([set]);
    expect(ranges).toEqual([]);
  });

  test('that was cut off is gone on with by the next command', async () => {
    const cache = newFolder();
    answer = cut;
    await expect(open(cache)).rejects.toThrow(/bytes are kept; run the command again/);
    ranges.length = 0;
    answer = ranged;
    const [set] = await open(cache);
    expect(ranges).toEqual([expect.stringMatching(/^bytes=\d+-$/)]);
    expect(existsSync(join(set!.folder, images[0]!))).toBe(true);
  });

  test('of other bytes is not unpacked', async () => {
    const cache = newFolder();
    answer = (_, response) => response.end(Buffer.alloc(archive.length));
    await expect(open(cache)).rejects.toThrow(/SHA-256 .*: it is not used/);
    const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    expect(files).toEqual([]);
  });

  test('without images where they should be says so', async () => {
    answer = whole;
    await expect(open(newFolder(), 'lfw', { ...own, image: /^none()()$/ })).rejects.toThrow('has no images');
  });

  test('is one that is known, by HTTPS and with a SHA-256', async () => {
    await expect(openSets('nobody')).rejects.toThrow('No published set is named nobody; there are lfw.');
    for (const { archive: known } of Object.values(publishedSets)) {
      expect(known).toMatchObject({
        url: expect.stringMatching(/^https:/),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
    }
  });
});
