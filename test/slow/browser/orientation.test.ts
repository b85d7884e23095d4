import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { analyseOptions, manifest, pack } from '../../fixtures/images.ts';
import { chromiumFile, Session } from './support/session.ts';

/** The table of docs/images.md: how facematch, Chromium and sharp turn an image whose EXIF says 6. */

const orientation = 0x112;
interface Entry {
  tag?: number;
  type?: number;
  count?: number;
  value?: number;
}

/** An EXIF block without a prefix: IFD0, and IFD1 where there is one. */
function tiff(entries: Entry[], { little = true, ifd1 = [] as Entry[], bytes = 0 } = {}): Buffer {
  const u16 = (value: number) => Buffer.from(little ? [value & 255, value >> 8] : [value >> 8, value & 255]);
  const u32 = (value: number) => {
    const four = Buffer.alloc(4);
    little ? four.writeUInt32LE(value) : four.writeUInt32BE(value);
    return four;
  };
  const held = (type: number, value: number) => {
    if (type === 3 || type === 8) return Buffer.concat([u16(value), u16(0)]);
    if (type === 11) return u32(Buffer.from(new Float32Array([value]).buffer).readUInt32LE());
    return type === 4 || type === 9 ? u32(value) : Buffer.from([value, 0, 0, 0]);
  };
  const ifd = (list: Entry[], next: number) =>
    Buffer.concat([
      u16(list.length),
      ...list.flatMap(({ tag = orientation, type = 3, count = 1, value = 6 }) => [
        ...[u16(tag), u16(type), u32(count), held(type, value)],
      ]),
      u32(next),
    ]);
  const second = 8 + 2 + 12 * entries.length + 4;
  const head = [Buffer.from(little ? 'II' : 'MM'), u16(42), u32(8)];
  const all = Buffer.concat([...head, ifd(entries, ifd1.length ? second : 0), ifd(ifd1, 0)]);
  return Buffer.concat([all, Buffer.alloc(Math.max(0, bytes - all.length))]);
}

/** Lying, with a red corner at the top left. */
const drawn = sharp({ create: { width: 64, height: 32, channels: 3, background: '#fff' } }).composite([
  { input: { create: { width: 16, height: 16, channels: 3, background: '#f00' } }, left: 0, top: 0 },
]);
const [jpegFile, pngFile, webpFile] = await Promise.all([
  drawn.clone().jpeg().toBuffer(),
  drawn.clone().png().toBuffer(),
  drawn.clone().webp({ lossless: true }).toBuffer(),
]);

const prefix = Buffer.from('Exif\0\0');
function app1(body: Buffer, fill = 0): Buffer {
  const length = body.length + 2;
  return Buffer.concat([Buffer.alloc(fill, 0xff), Buffer.of(0xff, 0xe1, length >> 8, length & 255), body]);
}
const jpeg = (...blocks: Buffer[]) =>
  Buffer.concat([jpegFile.subarray(0, 2), ...blocks, jpegFile.subarray(2)]);
const exif = (block: Buffer, fill = 0) => app1(Buffer.concat([prefix, block]), fill);
const xmp = (body: string) => app1(Buffer.from(`http://ns.adobe.com/xap/1.0/\0${body}`));
const rdf = (attributes: string) =>
  `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
  `<rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" ${attributes}/></rdf:RDF></x:xmpmeta>`;

function png(name: string, body: Buffer, behind = false): Buffer {
  const named = Buffer.concat([Buffer.from(name), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(named));
  const at = behind ? pngFile.indexOf('IEND') - 4 : 33;
  return Buffer.concat([pngFile.subarray(0, at), length, named, sum, pngFile.subarray(at)]);
}

const chunk = (name: string, body: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([Buffer.from(name), length, body, Buffer.alloc(body.length % 2)]);
};
function webp(block: Buffer, { extended = true, flag = 8 } = {}): Buffer {
  const head = chunk('VP8X', Buffer.of(flag, 0, 0, 0, 63, 0, 0, 31, 0, 0));
  const heads = [Buffer.from('WEBP'), ...(extended ? [head] : [])];
  return chunk('RIFF', Buffer.concat([...heads, webpFile.subarray(12), chunk('EXIF', block)]));
}

const six = tiff([{}]);
const hex = Buffer.concat([prefix, six]).toString('hex');
/** By the first cell of the table's row: files that each show what the row says. */
const files: Readonly<Record<string, readonly Buffer[]>> = {
  'as SHORT, in either byte order; behind fill bytes before the marker; behind XMP': [
    ...[jpeg(exif(six)), jpeg(exif(tiff([{}], { little: false }))), jpeg(exif(six, 3))],
    jpeg(xmp(rdf('')), exif(six)),
  ],
  'as LONG, SSHORT, SLONG or SBYTE': [4, 8, 9, 6].map((type) => jpeg(exif(tiff([{ type }])))),
  'as BYTE': [jpeg(exif(tiff([{ type: 1 }])))],
  'as ASCII or FLOAT': [2, 11].map((type) => jpeg(exif(tiff([{ type }])))),
  'as two values of type SHORT, the first of them 6': [jpeg(exif(tiff([{ count: 2 }])))],
  'as no value, or as more than the entry holds': [0, 3].map((count) => jpeg(exif(tiff([{ count }])))),
  'in the entry behind one that says 0': [jpeg(exif(tiff([{ value: 0 }, {}])))],
  'in the entry behind one that says 3': [jpeg(exif(tiff([{ value: 3 }, {}])))],
  'behind `Exif`, 0 and another byte than 0': [jpeg(app1(Buffer.concat([Buffer.from('Exif\0\x01'), six])))],
  'in a second block, the first is empty': [jpeg(exif(Buffer.alloc(0)), exif(six))],
  'in a second block, the first is damaged, has no orientation or says 0': [
    Buffer.alloc(30, 0x55),
    tiff([{ tag: 0x10f, type: 4 }]),
    tiff([{ value: 0 }]),
  ].map((first) => jpeg(exif(first), exif(six))),
  'in a second block, the first says 1': [jpeg(exif(tiff([{ value: 1 }])), exif(six))],
  'in a second block, the first says 3': [jpeg(exif(tiff([{ value: 3 }])), exif(six))],
  'for the thumbnail only (IFD1), or in XMP': [
    jpeg(exif(tiff([], { ifd1: [{}] }))),
    jpeg(xmp(rdf('tiff:Orientation="6"'))),
  ],
  'PNG: `eXIf` before the pixels, also of more than 1 MiB': [0, 1.5 * 2 ** 20].map((bytes) =>
    png('eXIf', tiff([{}], { bytes })),
  ),
  'PNG: `eXIf` of 9 MiB': [png('eXIf', tiff([{}], { bytes: 9 * 2 ** 20 }))],
  'PNG: `eXIf` behind the pixels': [png('eXIf', six, true)],
  'PNG: a text chunk `Raw profile type exif`': [
    png('tEXt', Buffer.from(`Raw profile type exif\0\nexif\n${`${hex.length / 2}`.padStart(8)}\n${hex}\n`)),
  ],
  'WebP: chunk `EXIF`': [webp(six)],
  "WebP: the same with JPEG's prefix": [webp(Buffer.concat([prefix, six]))],
  'WebP: `EXIF` in a file without `VP8X`, or without its flag': [
    webp(six, { extended: false }),
    webp(six, { flag: 0 }),
  ],
};

/** The orientation that an image of that size was shown in, by where its red corner is. */
function shown(width: number, height: number, isRed: (x: number, y: number) => boolean): number {
  const corners = [isRed(4, 4), isRed(width - 4, 4), isRed(width - 4, height - 4)];
  return [1, 6, 3][corners.indexOf(true)] ?? Number.NaN;
}

async function bySharp(file: Buffer): Promise<number> {
  const { data, info } = await sharp(file).rotate().removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return shown(info.width, info.height, (x, y) => data[3 * (y * info.width + x) + 1]! < 128);
}

describe.skipIf(chromiumFile === undefined)('an image whose EXIF says 6 is turned', () => {
  const session = new Session();
  const addon = loadPack(pack, manifest);
  const page = readFileSync(projectPath('docs/images.md'), 'utf8');
  const table = page.slice(page.indexOf('| EXIF says 6 |')).split('\n\n')[0]!.split('\n').slice(2);

  test('as the table says', async () => {
    const { page: tab } = await session.open();
    const byChromium = async (file: Buffer) => {
      const { width, height, rgba } = await tab.evaluate(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const image = new Image();
        image.src = URL.createObjectURL(new Blob([bytes]));
        await image.decode();
        const { naturalWidth: width, naturalHeight: height } = image;
        const canvas = Object.assign(document.createElement('canvas'), { width, height });
        const context = canvas.getContext('2d')!;
        context.drawImage(image, 0, 0);
        return { width, height, rgba: [...context.getImageData(0, 0, width, height).data] };
      }, file.toString('base64'));
      return shown(width, height, (x, y) => rgba[4 * (y * width + x) + 1]! < 128);
    };
    const rows: string[] = [];
    for (const [what, all] of Object.entries(files)) {
      const seen = new Set<string>();
      for (const file of all) {
        const known = addon.analyse(pack, file, { ...analyseOptions, use_heuristic_fallback: false });
        if (!known.ok) throw new Error(known.code);
        seen.add([known.image.orientation, await byChromium(file), await bySharp(file)].join(' | '));
      }
      rows.push(`| ${what} | ${[...seen].join(' or ')} |`);
    }
    expect(table).toEqual(rows);
  }, 60_000);
});
