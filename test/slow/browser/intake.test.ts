import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { drawFaces } from '../../../src/cli/drawing.ts';
import { blank, samples } from '../../fixtures/images.ts';
import { type DemoPage, jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Tests every way to add a photo to the page: choosing, pasting, dropping, and the camera. */

describe.skipIf(chromiumFile === undefined)('a photo', () => {
  const session = new Session();
  let files: [string, string];
  let small: Buffer;
  beforeAll(async () => {
    files = [join(session.home.folder, 'one.jpg'), join(session.home.folder, 'three.jpg')];
    writeFileSync(files[0], samples.one);
    writeFileSync(files[1], samples.three);
    small = await blank(64, 48, 'png');
  });

  const caption = (demo: DemoPage, number: 1 | 2) => demo.slot(number).locator('.caption').textContent();

  /** Drops files on an element, with the events that a browser gets from the system. */
  const drop = async (demo: DemoPage, target: string, paths: readonly string[]) => {
    const devtools = await demo.page.context().newCDPSession(demo.page);
    const { x, y, width, height } = (await demo.page.locator(target).boundingBox())!;
    const data = { items: [], files: [...paths], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await devtools.send('Input.dispatchDragEvent', { type, x: x + width / 2, y: y + height / 2, data });
    }
  };

  test('is added when dropped on its slot', async () => {
    const demo = await session.open();
    await drop(demo, 'section[aria-label="Photo 2"]', [files[1]]);
    await demo.preview(2).waitFor();
    expect(await caption(demo, 2)).toContain('three.jpg');
    expect(await demo.preview(1).isVisible()).toBe(false);
  });

  test('is compared with another when both are dropped anywhere', async () => {
    const demo = await session.open();
    await drop(demo, 'h1', files);
    await demo.preview(1).waitFor();
    await demo.preview(2).waitFor();
    expect(await caption(demo, 1)).toContain('one.jpg');
    expect(await demo.compare()).toMatchObject({ match: true });
  });

  test('is pasted into the first empty slot', async () => {
    const demo = await session.open();
    await demo.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await demo.give(1, jpeg(samples.one));
    await demo.preview(1).waitFor();
    await demo.page.evaluate(async (text) => {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const png = new Blob([bytes], { type: 'image/png' });
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': png })]);
    }, small.toString('base64'));
    await demo.page.keyboard.press('Control+V');
    await demo.preview(2).waitFor();
    expect(await caption(demo, 2)).toContain('.png');
    expect(await caption(demo, 1)).toContain('photo.jpg');
  });

  test('is taken with a camera, which is switched off with the dialog', async () => {
    const demo = await session.open();
    await demo.page.context().grantPermissions(['camera']);
    await demo.slot(1).getByRole('button', { name: 'Camera for photo 1' }).click();
    const dialog = demo.page.getByRole('dialog', { name: 'Photo 1' });
    await expect
      .poll(() => demo.page.evaluate(() => document.querySelector('video')?.videoWidth ?? 0))
      .toBeGreaterThan(0);
    await dialog.getByRole('button', { name: 'Take photo' }).click();
    await demo.preview(1).waitFor();
    expect(await caption(demo, 1)).toContain('camera.jpg');
    expect(await dialog.isVisible()).toBe(false);
    expect(await demo.page.evaluate(() => document.querySelector('video')?.srcObject)).toBeNull();
  });

  test('is not taken if camera access is denied, and the dialog explains what to do', async () => {
    const demo = await session.open();
    await demo.slot(1).getByRole('button', { name: 'Camera for photo 1' }).click();
    const fault = demo.page.getByRole('dialog').getByRole('alert');
    await fault.waitFor();
    expect(await fault.textContent()).toContain('Allow it in the address bar, or choose a file.');
    expect(await demo.page.locator('#viewfinder').isVisible()).toBe(false);
    await demo.page.keyboard.press('Escape');
    expect(await demo.page.getByRole('dialog').isVisible()).toBe(false);
    expect(await demo.focused()).toBe('Camera for photo 1');
  });

  test('is requested from the system’s own camera if the page has no access', async () => {
    const demo = await session.open();
    const dialog = demo.page.waitForEvent('filechooser');
    await demo.page.evaluate(() => {
      Object.defineProperty(navigator, 'mediaDevices', { value: undefined });
    });
    await demo.slot(2).getByRole('button', { name: 'Camera for photo 2' }).click();
    expect(await (await dialog).element().getAttribute('capture')).toBe('user');
    await (await dialog).setFiles(files[0]);
    await demo.preview(2).waitFor();
  });

  test('is offered as a sample in the empty frame, with a link in the shown request', async () => {
    const demo = await session.open();
    await demo.page.getByRole('button', { name: 'Use this sample photo as photo 1' }).click();
    await demo.preview(1).waitFor();
    await demo.page.getByRole('button', { name: 'Use this sample photo as photo 2' }).click();
    await demo.preview(2).waitFor();
    expect(await demo.compare()).toMatchObject({ match: true, extrapolated: true, pairs_compared: 9 });
    expect(await demo.page.locator('#summary').textContent()).toContain('(beyond the measured range)');
    const download = demo.page.waitForEvent('download');
    await demo.page.getByRole('link', { name: 'sample2.jpg' }).click();
    expect((await download).suggestedFilename()).toBe('sample2.jpg');
  });

  test('is sent unchanged, with its EXIF', async () => {
    const demo = await session.open();
    const tagged = await sharp(samples.one).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    await demo.givePhotos(tagged, samples.three);
    const { request_id, image1 } = await demo.compare();
    expect(image1.orientation).toBe(6);
    const photos = tagged.length + samples.three.length;
    const { request_bytes } = await session.server.logged(request_id);
    expect(request_bytes).toBeGreaterThan(photos);
    // Allows for names and boundaries of three parts.
    expect(request_bytes).toBeLessThan(photos + 1000);
  });
});

/**
 * Tests that previews and `detect --draw` show what the server analyses: the image rotated upright by its EXIF
 * orientation.
 */

const [width, height] = [60, 40];

/** One colour per quarter, so that each of the eight orientations looks different. */
async function quarters(orientation: number, format: 'jpeg' | 'png' | 'webp'): Promise<Buffer> {
  const [w, h] = [width / 2, height / 2];
  const quarter = (background: string, left: number, top: number) => ({
    input: { create: { width: w, height: h, channels: 3 as const, background } },
    left,
    top,
  });
  const photo = sharp({ create: { width, height, channels: 3, background: 'red' } }).composite([
    quarter('rgb(0,255,0)', w, 0),
    quarter('rgb(0,0,255)', 0, h),
    quarter('rgb(128,128,128)', w, h),
  ]);
  return photo.withMetadata({ orientation }).toFormat(format, { quality: 100, lossless: true }).toBuffer();
}

/** Returns size and corner colours of RGBA pixels, row by row, in steps of 128, because JPEG is not exact. */
function cornersOf({
  width,
  height,
  data,
}: {
  width: number;
  height: number;
  data: ArrayLike<number>;
}): string {
  const at = (x: number, y: number) =>
    [0, 1, 2].map((channel) => Math.round(data[4 * (y * width + x) + channel]! / 128)).join('');
  const [x, y] = [width - 8, height - 8];
  return `${width} × ${height}: ${at(8, 8)} ${at(x, 8)} ${at(8, y)} ${at(x, y)}`;
}

async function bySharp(bytes: Buffer): Promise<string> {
  const upright = sharp(bytes).autoOrient().ensureAlpha().raw();
  const { data, info } = await upright.toBuffer({ resolveWithObject: true });
  return cornersOf({ ...info, data });
}

async function byChromium(shown: Locator): Promise<string> {
  const drawn = await shown.evaluate(async (element) => {
    const image = element as HTMLImageElement;
    await image.decode();
    const { naturalWidth: width, naturalHeight: height } = image;
    const canvas = Object.assign(document.createElement('canvas'), { width, height });
    const context = canvas.getContext('2d')!;
    context.drawImage(image, 0, 0);
    return { width, height, data: [...context.getImageData(0, 0, width, height).data] };
  });
  return cornersOf(drawn);
}

describe.skipIf(chromiumFile === undefined)('image orientation in the browser', () => {
  const session = new Session({ until: 'listening' });

  test.each(['jpeg', 'png', 'webp'] as const)(
    'shows the preview and the face drawing of a %s upright in all orientations',
    async (format) => {
      const demo = await session.open();
      const page = await session.browser.newPage();
      for (let orientation = 1; orientation <= 8; orientation++) {
        const buffer = await quarters(orientation, format);
        const name = `${orientation}.${format}`;
        await demo.give(1, { name, mimeType: `image/${format}`, buffer });
        await demo.slot(1).getByText(name).waitFor();
        await demo.preview(1).waitFor();
        const [w, h] = orientation < 5 ? [width, height] : [height, width];
        const image = { width: w, height: h, format, orientation, min_detectable_face_px: 9, faces: [] };
        const svg = Buffer.from(drawFaces(buffer, image)).toString('base64');
        await page.setContent(`<img src="data:image/svg+xml;base64,${svg}">`);
        const seen = await Promise.all([demo.preview(1), page.locator('img')].map(byChromium));
        expect([name, ...seen]).toEqual([name, ...Array(2).fill(await bySharp(buffer))]);
      }
      await page.close();
    },
  );
});
