import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { drawFaces } from '../../src/lab/drawing.ts';
import { chromiumFile, Session } from './support/session.ts';

/** What a preview shows is what the server judges: the picture upright, by its EXIF orientation, in every format. */

const [width, height] = [60, 40];
const colours = { red: [255, 0, 0], green: [0, 255, 0], blue: [0, 0, 255], grey: [128, 128, 128] } as const;

/** One colour a quarter, so that each of the eight orientations looks different. */
async function quarters(orientation: number, format: 'jpeg' | 'png' | 'webp'): Promise<Buffer> {
  const [w, h] = [width / 2, height / 2];
  const quarter = (background: string, left: number, top: number) => ({
    input: { create: { width: w, height: h, channels: 3 as const, background } },
    left,
    top,
  });
  const picture = sharp({ create: { width, height, channels: 3, background: 'red' } }).composite([
    quarter('rgb(0,255,0)', w, 0),
    quarter('rgb(0,0,255)', 0, h),
    quarter('rgb(128,128,128)', w, h),
  ]);
  return picture.withMetadata({ orientation }).toFormat(format, { quality: 100, lossless: true }).toBuffer();
}

/** The colours in the corners, row by row, as sharp sees them upright. */
async function cornersBySharp(bytes: Buffer): Promise<string> {
  const { data, info } = await sharp(bytes)
    .autoOrient()
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [...data.subarray(3 * (y * info.width + x)).subarray(0, 3)];
  const [x, y] = [info.width - 8, info.height - 8];
  return `${info.width} × ${info.height}: ${[at(8, 8), at(x, 8), at(8, y), at(x, y)].map(nameOf).join(' ')}`;
}

/** The nearest: JPEG is not exact. */
function nameOf(pixel: readonly number[]): string {
  const distance = (colour: readonly number[]) =>
    colour.reduce((sum, value, i) => sum + Math.abs(value - (pixel[i] ?? 0)), 0);
  return Object.entries(colours).sort(([, a], [, b]) => distance(a) - distance(b))[0]![0];
}

describe.skipIf(chromiumFile === undefined)('in the browser', () => {
  const session = new Session({ until: 'listening' });

  test.each(['jpeg', 'png', 'webp'] as const)(
    'the preview of a %s stands upright in all eight orientations',
    async (format) => {
      const demo = await session.open();
      for (let orientation = 1; orientation <= 8; orientation++) {
        const buffer = await quarters(orientation, format);
        const name = `${orientation}.${format}`;
        await demo.give(1, { name, mimeType: `image/${format}`, buffer });
        await demo.slot(1).getByText(name).waitFor();
        await demo.preview(1).waitFor();
        const seen = await demo.preview(1).evaluate((image: HTMLImageElement) => {
          const [w, h] = [image.naturalWidth, image.naturalHeight];
          const canvas = Object.assign(document.createElement('canvas'), { width: w, height: h });
          const context = canvas.getContext('2d', { willReadFrequently: true })!;
          context.drawImage(image, 0, 0);
          const at = (x: number, y: number) => [...context.getImageData(x, y, 1, 1).data.subarray(0, 3)];
          return { w, h, corners: [at(8, 8), at(w - 8, 8), at(8, h - 8), at(w - 8, h - 8)] };
        });
        const corners = `${seen.w} × ${seen.h}: ${seen.corners.map(nameOf).join(' ')}`;
        expect(`${name} ${corners}`).toBe(`${name} ${await cornersBySharp(buffer)}`);
      }
    },
  );

  test.each(['jpeg', 'png', 'webp'] as const)(
    'what `detect --draw` writes of a %s stands upright in all eight orientations',
    async (format) => {
      const page = await session.browser.newPage();
      for (let orientation = 1; orientation <= 8; orientation++) {
        const buffer = await quarters(orientation, format);
        const [w, h] = orientation < 5 ? [width, height] : [height, width];
        const image = { width: w, height: h, format, orientation, faces: [] };
        await page.setViewportSize({ width: w, height: h });
        const svg = Buffer.from(drawFaces(buffer, image)).toString('base64');
        await page.goto(`data:image/svg+xml;base64,${svg}`);
        const seen = `${orientation} ${await cornersBySharp(await page.screenshot())}`;
        expect(seen).toBe(`${orientation} ${await cornersBySharp(buffer)}`);
      }
      await page.close();
    },
  );
});
