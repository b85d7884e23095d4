import sharp, { type Sharp } from 'sharp';
import { expect, test } from 'vitest';
import { problemOf } from '../../src/endpoints/faults.ts';
import type { NativeFailure } from '../../src/engine/addon.ts';
import { detectText, kinds } from '../../src/engine/file-kind.ts';
import { declaredSize } from '../../src/engine/image-size.ts';
import { sample } from '../fixtures/images.ts';
import { without } from '../support/without.mjs';

/** Tests that data which clients send instead of an image is recognised, and reported with a fix. */

const jpeg = sample(1);
const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x00', 'latin1');
const webp = Buffer.from('RIFF\xfe\x9d\0\0WEBPVP8 ', 'latin1');
const [utf8, latin1, utf16] = (['utf8', 'latin1', 'utf16le'] as const).map(
  (encoding) => (text: string) => Buffer.from(text, encoding),
) as [(text: string) => Buffer, (text: string) => Buffer, (text: string) => Buffer];
const base64 = jpeg.toString('base64');
const middle = jpeg.subarray(500).toString('base64');
const long = 'Hello World, this is number 1. '.repeat(4);
const strange = ['\0\0\0\x20ftypmp42', '\xd8\xff\xe0', 'PNG\r\n\x1a\n'];
const url64 = jpeg.toString('base64url');

/** By kind: a pattern of the detail, texts separated by bars, and other bytes. */
const cases: Record<string, [words: RegExp, texts: string, ...others: Buffer[]]> = {
  text: [
    /is text, "(?!\[object).*the file as bytes|"\[object Object\]"\. A program converted an object/,
    `[object Object] | undefined | <svgs/> | <?xml version="1.0"?><x/> | {"image":1} | GIF | ${long}`,
    ...[png.toString(), png.toString('latin1'), webp.toString(), 'No photo.\nSee one.jpg'].map(utf8),
  ],
  svg: [
    /a vector drawing.*to PNG/,
    '<svg xmlns="x"/> | <?xml version="1.0"?>\n<!-- a --><!--b-->\n<svg>',
    ...[utf16('<svg/>'), utf8('<!DOCTYPE svg PUBLIC "x" [<!ENTITY a "b">]><svg/>')],
    utf8('\ufeff<svg:svg xmlns:svg="x">'),
  ],
  html: [
    /HTML page/,
    '<html><body>502</body></html> | <!DOCTYPE HTML>\n | <!--x--><p> | <?xml version="1.0"?>\n<html xmlns="x">',
    ...[latin1('<h1>M\xfcll</h1>'), utf16('<html>')],
  ],
  base64: [
    /Decode it/,
    `"${base64}" | b'${base64}' | ${encodeURIComponent(base64)} | ${url64} | ${png.toString('base64')} | ${middle}`,
    utf8(middle.replaceAll(/.{76}/g, '$&\r\n')),
  ],
  data_url: [/after the comma/, `data:image/jpeg;base64,/9j/ | DATA:,x | "data:image/png;base64,${middle}"`],
  url: [
    /does not fetch URLs/,
    `https://x/a.jpg | file:/data/a | content://media/1 | blob:http://x/1 | ph://1/L0 | www.x.org | https://x/${url64}`,
  ],
  path: [
    /an @ before the name.*CURLFile/,
    'one.jpg\n | "one.jpg" | a.jpg;type=image/jpeg | My photo.PNG | @one | /tmp/a | ./a | ..\\a | ~/a | C:\\a | c:/a | \\\\host\\a',
    latin1('M\xfcller, f\xfcr dich.jpg'),
  ],
  jpeg_as_text: [
    /original file, read the file as bytes/,
    `${JSON.stringify(jpeg)} | ${new Uint8Array(jpeg)} | b'\\xff\\xd8\\xff\\xe0'`,
    ...[jpeg.toString(), jpeg.toString('latin1'), jpeg.toString().replace('JFIF', '')].map(utf8),
    ...[utf16(jpeg.toString('latin1')), utf16(`\ufeff${jpeg}`)],
    Buffer.from(jpeg.map((byte) => (byte & 0x80 ? 0x3f : byte))),
  ],
  unknown: [/an unknown kind/, '', ...strange.map(latin1), jpeg.subarray(20, 900)],
};

/** Returns the members of the problem for bytes that no decoder recognises. */
function extrasOf(bytes: Uint8Array) {
  const unknown = { ok: false, code: 'unsupported_image_format', detected: 'unknown' } as const;
  const fault = without(detectText<NativeFailure>(unknown, bytes), 'ok') as Omit<typeof unknown, 'ok'>;
  return problemOf([{ field: 'image1', ...fault }]).extras;
}

const head = '--x\r\nContent-Disposition: form-data; name="image1"\r\n\r\n';
const notices = 'Notice: x\n'.repeat(6553);
test.each<[bytes: number, detected: string, before: string | Buffer]>([
  [1, 'unknown', '\n'],
  [2, 'unknown', utf16('\ufeff')],
  [3, 'unknown', '\ufeff'],
  [4, 'unknown', '\0\x01\xff'],
  [head.length, 'text', head],
  [52, 'html', '<br />\n<b>Warning</b>:  x in /y.php on line 3<br />\n'],
  [65_535, 'text', `${notices}12345`],
])('reports %i bytes (%s) before a JPEG', (position, detected, before) => {
  const extras = extrasOf(Buffer.concat([Buffer.from(before as string), jpeg]));
  expect(extras).toMatchObject({ detected, position, field: 'image1' });
  expect(extras.detail).toContain(`A JPEG begins at byte offset ${position}. Remove`);
});

test.each([
  ['bytes that only resemble a JPEG', '\n\xff\xd8\xff\xe0\0\x10JFIF\0\0\0\0\0\0\0\0\0\0\0\0', 'unknown'],
  ['a JPEG beyond 64 KiB', `${notices}123456${jpeg.toString('latin1')}`, 'text'],
])('does not report the position of %s', (_what, text, detected) => {
  expect(extrasOf(latin1(text))).toEqual({ field: 'image1', detected, detail: expect.any(String) });
});

test('has a fix for each kind except unknown', () => {
  const silent = Object.entries(kinds).filter(([, kind]) => !('advice' in kind));
  expect(silent.map(([detected]) => detected)).toEqual(['unknown']);
});

test.each(Object.entries(cases))(
  'detects data that is not an image as %s',
  (detected, [words, texts, ...others]) => {
    for (const bytes of [...texts.split(' | ').map(utf8), ...others]) {
      const extras = extrasOf(bytes);
      const sent = bytes.toString('utf8', 0, 30);
      const detail = expect.stringMatching(words);
      expect({ ...extras, sent }).toEqual({ detail, field: 'image1', detected, sent });
      expect(extras.detail).not.toMatch(/\p{Cc}/u);
    }
  },
);

const drawn = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'red' } });

test.each<[kind: string, encode: (image: Sharp) => Sharp]>([
  ['a JPEG', (image) => image.jpeg()],
  ['a progressive JPEG with a profile', (image) => image.withIccProfile('p3').jpeg({ progressive: true })],
  ['a PNG', (image) => image.png()],
  ['a lossy WebP', (image) => image.webp()],
  ['a lossless WebP', (image) => image.webp({ lossless: true })],
  ['an extended WebP', (image) => image.withExif({ IFD0: { Make: 'x' } }).webp()],
])('reads the size of %s, and none from a truncated header', async (_kind, encode) => {
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
  'returns no size for %j',
  (text) => {
    expect(declaredSize(Buffer.from(text, 'latin1'))).toBeUndefined();
  },
);
