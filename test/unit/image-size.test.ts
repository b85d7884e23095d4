import sharp, { type Sharp } from 'sharp';
import { expect, test } from 'vitest';
import { declaredSize } from '../../src/endpoints/image-size.ts';

/** The size that the head of an image declares, as another decoder writes it. */

const drawn = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'red' } });

test.each<[kind: string, encode: (image: Sharp) => Sharp]>([
  ['a JPEG', (image) => image.jpeg()],
  ['a progressive JPEG with a profile', (image) => image.withIccProfile('p3').jpeg({ progressive: true })],
  ['a PNG', (image) => image.png()],
  ['a lossy WebP', (image) => image.webp()],
  ['a lossless WebP', (image) => image.webp({ lossless: true })],
  ['an extended WebP', (image) => image.withExif({ IFD0: { Make: 'x' } }).webp()],
])('the size of %s is read, and not beyond the end of its head', async (_kind, encode) => {
  for (const [width, height] of [
    [1, 1],
    [4097, 301],
  ] as const) {
    const image = await encode(drawn(width, height)).toBuffer();
    expect(declaredSize(image)).toEqual({ width, height });
    for (let length = 0; length < 24; length++)
      expect(declaredSize(image.subarray(0, length))).toBeUndefined();
  }
});

test.each(['', 'GIF89a', 'RIFF\x10\0\0\0WEBPVP9 \0\0\0\0\0\0\0\0', '\xff\xd8\xff\xe0\xff\xff'])(
  '%j declares no size',
  (text) => {
    expect(declaredSize(Buffer.from(text, 'latin1'))).toBeUndefined();
  },
);
