import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { samples } from '../../fixtures/images.ts';
import type { Json } from '../../server/support/client.ts';
import { newFolder } from '../../support/folder.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Tests that the server compares the pixels that Chromium shows: compares each file with Chromium's drawing of it. */

const uint32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, 4 * i);
  return bytes;
};

function chunk(name: string, content: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(name), content]);
  return Buffer.concat([uint32(content.length), named, uint32(crc32(named))]);
}

/** Inserts chunks after IHDR, which ends at byte 33. */
const withChunks = (png: Buffer, ...chunks: Buffer[]): Buffer =>
  Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)]);

/** An ICC profile with the primaries of sRGB (D50) and one gamma. */
function profileOf(gamma: number): Buffer {
  const fixed = (...values: number[]) => uint32(...values.map((value) => Math.round(value * 65_536)));
  const xyz = (...values: number[]) => Buffer.concat([Buffer.from('XYZ \0\0\0\0'), fixed(...values)]);
  const curve = Buffer.concat([Buffer.from('curv'), uint32(0, 1), Buffer.from([gamma, 0, 0, 0])]);
  const tags: [string, Buffer][] = [
    ['wtpt', xyz(0.9642, 1, 0.8249)],
    ['rXYZ', xyz(0.4361, 0.2225, 0.0139)],
    ['gXYZ', xyz(0.3851, 0.7169, 0.0971)],
    ['bXYZ', xyz(0.1431, 0.0606, 0.7141)],
    ['rTRC', curve],
    ['gTRC', curve],
    ['bTRC', curve],
  ];
  const table: Buffer[] = [uint32(tags.length)];
  let at = 128 + 4 + 12 * tags.length;
  for (const [name, content] of tags) {
    table.push(Buffer.from(name), uint32(at, content.length));
    at += content.length;
  }
  const header = Buffer.alloc(128);
  header.writeUInt32BE(at, 0);
  header.writeUInt32BE(0x02100000, 8);
  header.write('mntrRGB XYZ ', 12, 'latin1');
  header.write('acsp', 36, 'latin1');
  fixed(0.9642, 1, 0.8249).copy(header, 68);
  return Buffer.concat([header, ...table, ...tags.map(([, content]) => content)]);
}

/** The photo with light values in place of sRGB's: it looks dark where no colour information is applied. */
async function linear(): Promise<Buffer> {
  const { data, info } = await sharp(samples.one).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const light = data.map((value) => Math.round(255 * (value / 255) ** 2.2));
  return sharp(light, { raw: { width, height, channels } }).png().toBuffer();
}

const gamma = (value: number) => chunk('gAMA', uint32(Math.round(value * 100_000)));

describe.skipIf(chromiumFile === undefined)('a photo with colour information', async () => {
  const session = new Session();
  const dark = await linear();
  const usual = await sharp(samples.one).removeAlpha().png().toBuffer();
  const file = join(newFolder(), 'linear.icc');
  const profile = profileOf(1);
  writeFileSync(file, profile);
  const iccp = chunk('iCCP', Buffer.concat([Buffer.from('linear\0\0'), deflateSync(profile)]));
  const converted = sharp(samples.one).withIccProfile(file);

  test.each([
    ['a PNG with a gamma of 1', withChunks(dark, gamma(1))],
    ['a PNG with a gamma of 0.25', withChunks(usual, gamma(0.25))],
    ['a PNG with a gamma of 1, overridden by sRGB', withChunks(usual, gamma(1), chunk('sRGB', Buffer.of(0)))],
    ['a PNG with linear code points', withChunks(dark, chunk('cICP', Buffer.of(1, 8, 0, 1)))],
    ['a PNG with a linear ICC profile, which overrides its gamma', withChunks(dark, gamma(0.45455), iccp)],
    ['a JPEG with a linear ICC profile', await converted.clone().jpeg({ quality: 95 }).toBuffer()],
    ['a WebP with a linear ICC profile', await converted.clone().webp({ quality: 95 }).toBuffer()],
  ])('is compared as Chromium shows it: %s', async (_what, bytes) => {
    const { page } = await session.open();
    const drawn = await page.evaluate(async (base64) => {
      const sent = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([sent]));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      canvas.getContext('2d')!.drawImage(bitmap, 0, 0);
      const png = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
      return btoa(Array.from(png, (byte) => String.fromCharCode(byte)).join(''));
    }, bytes.toString('base64'));
    const image2 = Buffer.from(drawn, 'base64');
    const { status, body } = await session.server.match({ image1: bytes, image2 });
    expect(status).toBe(200);
    expect(body.similarity).toBeGreaterThan(0.995);
    const [sent, shown] = [body.image1, body.image2].map(({ faces }) =>
      faces.map(({ quality }: Json) => quality.brightness),
    );
    expect(sent).toHaveLength(shown.length);
    // Two levels of 255, and the rounding to two decimals.
    for (const [i, brightness] of shown.entries()) expect(Math.abs(sent[i] - brightness)).toBeLessThan(0.011);
  });
});
