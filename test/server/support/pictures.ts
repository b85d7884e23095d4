import sharp from 'sharp';
import { sample } from '../../fixtures/pictures.ts';

/** Group photos of three people each. One woman stands in the first and in the third; all others are different people. */
export const samples = { one: sample(1), two: sample(2), three: sample(3) } as const;

/** One colour, so without a face. */
export function blank(
  width: number,
  height: number,
  format: 'png' | 'jpeg' | 'webp' | 'gif' | 'tiff' | 'avif',
): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#87a' } })
    .toFormat(format)
    .toBuffer();
}

/** A progressive JPEG whose first scan stands in it `count` times more: legal, and a pass over the whole picture each. */
export async function manyScans(count: number): Promise<Buffer> {
  const picture = await sharp(samples.one).resize(640).jpeg({ progressive: true }).toBuffer();
  const start = picture.indexOf(Buffer.of(0xff, 0xda));
  const end = picture.indexOf(Buffer.of(0xff, 0xc4), start);
  const scans = Array.from({ length: count }, () => picture.subarray(start, end));
  return Buffer.concat([picture.subarray(0, end), ...scans, picture.subarray(end)]);
}
