import { expect, test } from 'vitest';
import type { NativeFailure } from '../../src/engine/addon.ts';
import type { Detected } from '../../src/face/detected.ts';
import { problemOf } from '../../src/face/faults.ts';
import { tellText } from '../../src/face/not-a-picture.ts';
import { sample } from '../fixtures/pictures.ts';

/** What clients send in place of a picture gets a name, and words that say what to do. */

const jpeg = sample(1);
const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x00', 'latin1');
const webp = Buffer.from('RIFF\xfe\x9d\0\0WEBPVP8 ', 'latin1');
const base64 = jpeg.toString('base64');
const latin1 = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(text, 'utf16le');

/** One a line. */
const lines: Partial<Record<Detected, string>> = {
  html: `<html><body>502</body></html>
    <!DOCTYPE HTML>
    <!--x--><p>
    <?xml version="1.0"?> <html xmlns="x">`,
  data_url: `data:image/jpeg;base64,/9j/
    DATA:,x
    "data:image/png;base64,${'A'.repeat(3000)}"`,
  base64: `"${base64}"
    b'${base64}'
    ${encodeURIComponent(base64)}
    ${jpeg.toString('base64url')}
    ${png.toString('base64')}
    ${jpeg.subarray(500).toString('base64')}`,
  url: `https://example.org/a.jpg
    file:/data/a.jpg
    content://media/1
    blob:http://x/1
    ph://1/L0/001
    www.example.org/a
    https://x/${'a'.repeat(3000)}`,
  path: `one.jpg
    "one.jpg"
    one.jpg;type=image/jpeg
    My photo.PNG
    @one
    /tmp/php3f
    ./a
    ..\\a
    ~/a
    C:\\fakepath\\a
    c:/a
    \\\\host\\a`,
  jpeg_as_text: `${JSON.stringify(jpeg)}
    ${new Uint8Array(jpeg)}
    b'\\xff\\xd8\\xff\\xe0'`,
  text: `[object Object]
    undefined
    <svg xmlns="http://www.w3.org/2000/svg"/>
    <?xml version="1.0"?><svg/>
    {"image":1}
    ${'Hello World, this is number 1. '.repeat(4)}
    GIF`,
};

const others: Partial<Record<Detected, Buffer[]>> = {
  html: [latin1('<h1>M\xfcll</h1>'), utf16('<html>')],
  base64: [Buffer.from(jpeg.subarray(500).toString('base64').replaceAll(/.{76}/g, '$&\r\n'))],
  path: [latin1('M\xfcller, f\xfcr dich.jpg'), Buffer.from('one.jpg\n')],
  text: [png, png.toString('latin1'), webp, 'No photo.\nSee one.jpg'].map((text) =>
    Buffer.from(text.toString()),
  ),
  jpeg_as_text: [
    ...[jpeg.toString('utf8'), jpeg.toString('latin1'), jpeg.toString('utf8').replace('JFIF', '')].map(
      (text) => Buffer.from(text),
    ),
    ...[utf16(jpeg.toString('latin1')), utf16(`\ufeff${jpeg.toString('utf8')}`)],
    jpeg.map((byte) => (byte < 0x80 ? byte : 0x3f)) as Buffer,
  ],
  unknown: [
    latin1(''),
    latin1('\0\0\0\x20ftypmp42'),
    png.subarray(1),
    jpeg.subarray(20, 900),
    latin1('\xd8\xff\xe0'),
  ],
};

const words: Partial<Record<Detected, RegExp>> = {
  text: /is text, "(?!\[object).*the file as bytes|"\[object Object\]"\. A program wrote an object/,
  html: /HTML page/,
  base64: /Decode it/,
  data_url: /behind its comma/,
  url: /not fetched/,
  path: /an @ before the name.*CURLFile/,
  jpeg_as_text: /still whole, read the file as bytes/,
  unknown: /no kind/,
};

test.each(Object.keys(words) as Detected[])('what is no picture is told as %s', (detected) => {
  const texts = (lines[detected]?.split(/\n\s*/) ?? []).map((line) => Buffer.from(line));
  for (const bytes of [...texts, ...(others[detected] ?? [])]) {
    const failure = tellText<NativeFailure>(
      { ok: false, code: 'unsupported_image_format', detected: 'unknown' },
      bytes,
    );
    const { ok: _, ...fault } = failure as Extract<NativeFailure, { detected: string }>;
    const { extras } = problemOf([{ field: 'image1', ...fault }]);
    const detail = expect.stringMatching(words[detected]!);
    expect({ ...extras, sent: bytes.subarray(0, 30) }).toEqual({
      detail,
      field: 'image1',
      detected,
      sent: bytes.subarray(0, 30),
    });
    expect(extras.detail).not.toMatch(/\p{Cc}/u);
  }
});
