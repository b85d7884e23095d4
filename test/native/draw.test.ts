import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { Face } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { packDirectory, readDraft } from '../../src/engine/manifest.ts';
import { analyseOptions, sample, smallSample } from '../fixtures/pictures.ts';

const pack = packDirectory('default');
const addon = loadPack(pack, readDraft(pack));
const limits = { max_pixels: 64_000_000, min_side: 16 };

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

/** Whether a pixel is near a box: lines and labels extend beyond it. */
function isNear(x: number, y: number, { box }: Face): boolean {
  const dx = Math.max(box.x - x, x - box.x - box.width, 0);
  const dy = Math.max(box.y - y, y - box.y - box.height, 0);
  return dx <= 100 && dy <= 30;
}

describe('a drawing', () => {
  // Every orientation of every format: native/test/orientation_test.cpp.
  it.each([1, 6])(
    'of a picture of EXIF orientation %i is upright, and equals the picture away from the faces',
    async (orientation) => {
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
      if (orientation === 1) expect(faces).toHaveLength(3);
    },
  );

  it('shows the line of a box at its position', async () => {
    const picture = await smallSample(1, 900);
    const [face] = facesOf(picture);
    const { data, width } = await pixelsOf(draw(picture, [face!]));
    const { x, y, height } = face!.box;
    const at = 3 * (Math.round(y + height / 2) * width + Math.round(x));
    // Green, the colour of `primary`.
    expect([...data.subarray(at, at + 3)]).toEqual([60, 220, 90]);
  });

  it('can be transferred to another thread', () => {
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

  it.each([undefined, null, 5, 'image', {}, new ArrayBuffer(5), new Uint16Array(5)])(
    '%o instead of a picture',
    (value) => {
      expect(() => addon.draw(value as never, [], limits)).toThrow('Expected a Uint8Array first');
    },
  );

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
});
