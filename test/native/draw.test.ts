import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { type Face, loadAddon } from '../../src/engine/addon.ts';
import { packDirectory } from '../../src/engine/pack.ts';
import { analyseOptions, gradient, sample, smallSample } from '../fixtures/pictures.ts';

const addon = loadAddon();
const pack = packDirectory('default');
const limits = { max_pixels: 50_000_000, min_side: 16 };

async function pixelsOf(picture: Uint8Array) {
  const { data, info } = await sharp(picture)
    .autoOrient()
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

function facesOf(picture: Uint8Array): Face[] {
  const result = addon.analyse(pack, picture, analyseOptions);
  if (!result.ok) throw new Error(result.code);
  return result.image.faces;
}

function draw(picture: Uint8Array, faces: readonly Face[]): Uint8Array {
  const result = addon.draw(picture, faces, limits);
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result.png;
}

/** Whether a pixel lies by a box: lines and labels reach out of it. */
function isNear(x: number, y: number, { box }: Face): boolean {
  const dx = Math.max(box.x - x, x - box.x - box.width, 0);
  const dy = Math.max(box.y - y, y - box.y - box.height, 0);
  return dx <= 100 && dy <= 30;
}

describe('a drawing', () => {
  it.each([
    1, 2, 3, 4, 5, 6, 7, 8,
  ])('of a picture of EXIF orientation %i is upright, and is the picture itself away from the faces', async (orientation) => {
    const turned = await sharp(await smallSample(1, 900))
      .withMetadata({ orientation })
      .png()
      .toBuffer();
    const upright = await pixelsOf(turned);
    const faces = facesOf(turned);
    const drawn = await pixelsOf(draw(turned, faces));
    expect([drawn.width, drawn.height]).toEqual([upright.width, upright.height]);
    let near = 0;
    let far = 0;
    for (let at = 0; at < drawn.data.length; at += 3) {
      if (drawn.data.subarray(at, at + 3).equals(upright.data.subarray(at, at + 3))) continue;
      const [x, y] = [(at / 3) % drawn.width, Math.floor(at / 3 / drawn.width)];
      if (faces.some((face) => isNear(x, y, face))) near++;
      else far++;
    }
    expect(far).toBe(0);
    expect(near > 0).toBe(faces.length > 0);
    // The upright ones at least hold faces to draw.
    if (orientation <= 2) expect(faces).toHaveLength(3);
  });

  it('shows the line of a box in the place of the box', async () => {
    const picture = await smallSample(1, 900);
    const [face] = facesOf(picture);
    const { data, width } = await pixelsOf(draw(picture, [face!]));
    const { x, y, height } = face!.box;
    const at = 3 * (Math.round(y + height / 2) * width + Math.round(x));
    // Green, as of a face found at once.
    expect([...data.subarray(at, at + 3)]).toEqual([60, 220, 90]);
  });

  it('of no faces is the picture', async () => {
    const picture = await gradient(60, 40).png().toBuffer();
    expect((await pixelsOf(draw(picture, []))).data).toEqual((await pixelsOf(picture)).data);
  });

  it('may be handed to another thread', () => {
    const png = draw(sample(1), []) as Uint8Array<ArrayBuffer>;
    expect(() => structuredClone(png, { transfer: [png.buffer] })).not.toThrow();
  });
});

describe('what cannot be drawn', () => {
  const [face] = facesOf(sample(1));

  it.each([
    ['a damaged picture', sample(1).subarray(0, 500), limits, 'image_decode_failed'],
    ['text', Buffer.from('a text'), limits, 'unsupported_image_format'],
    ['nothing', Buffer.alloc(0), limits, 'unsupported_image_format'],
    ['too many pixels', sample(1), { ...limits, max_pixels: 1000 }, 'image_dimensions'],
  ])('%s is refused as detect() refuses it', (_what, picture, options, code) => {
    const refused = addon.draw(picture, [face!], options);
    expect(refused).toMatchObject({ ok: false, code });
    expect(refused).toEqual(addon.analyse(pack, picture, { ...analyseOptions, ...options }));
  });

  it.each([
    undefined,
    null,
    5,
    'image',
    {},
    new ArrayBuffer(5),
    new Uint16Array(5),
  ])('%o instead of a picture', (value) => {
    expect(() => addon.draw(value as never, [], limits)).toThrow('Expected a Uint8Array first');
  });

  it.each([undefined, null, 5, 'faces', {}, new Uint8Array(5)])('%o instead of faces', (value) => {
    expect(() => addon.draw(sample(1), value as never, limits)).toThrow('Expected an array of faces second');
  });

  it.each([
    undefined,
    null,
    5,
    {},
    { ...face, box: 5 },
    { ...face, landmarks: {} },
    { ...face, found_by: 7 },
  ])('%o instead of a face', (value) => {
    expect(() => addon.draw(sample(1), [value as never], limits)).toThrow(/expected|convert/i);
  });

  it.each([undefined, null, 5, {}, { max_pixels: '5', min_side: 1 }])('%o instead of limits', (value) => {
    expect(() => addon.draw(sample(1), [], value as never)).toThrow(/expected|convert/i);
  });

  it('a face found by an unknown step is an internal error', () => {
    const wrong = { ...face!, found_by: 'magic' as never };
    expect(addon.draw(sample(1), [wrong], limits)).toMatchObject({ ok: false, code: 'internal_error' });
  });

  it('coordinates that are no numbers or far away are cut off', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1e308, 1e308]) {
      const wild = { ...face!, box: { x: value, y: value, width: value, height: value } };
      expect(addon.draw(sample(1), [wild], limits)).toMatchObject({ ok: true });
    }
  });
});
