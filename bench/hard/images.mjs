// Provides images with known contents, and variants that make an ordinary image hard. Images that are not part of the
// project are in ../shared or $FACEMATCH_SHARED.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import sharp from 'sharp';
import { root } from '../../test/support/programs.mjs';
import { intersectionOverUnion, mean, still } from '../lib/geometry.mjs';
import { sharedData } from '../lib/setup.mjs';

const folder = sharedData();

/** True if the folder of shared images exists. */
export const shared = folder !== undefined;

function files(name, pattern = /\.(jpe?g|png|webp)$/i) {
  return readdirSync(join(folder, name), { recursive: true })
    .filter((file) => pattern.test(file))
    .sort()
    .map((file) => join(folder, name, file));
}

const read = (file) => ({ name: basename(file), bytes: readFileSync(file) });

/** Returns the sample photos of @vladmandic/face-api, with the number of people in each, counted by hand. */
export function samples() {
  return [3, 3, 3, 4, 5, 4].map((people, i) => ({
    ...read(join(root, `node_modules/@vladmandic/face-api/demo/sample${i + 1}.jpg`)),
    people,
  }));
}

/** Studio portraits of one person each. */
export const portraits = () => files('london').map(read);

/** Images without a human face. */
export const negatives = () => files('negatives').map(read);

/** Group photos whose file names state the number of people. */
export function groups() {
  return files('groups/compreface', /_\d+\.jpg$/).map((file) => ({
    ...read(file),
    people: Number(/_(\d+)\.jpg$/.exec(file)[1]),
  }));
}

/** Images of one face with rotated pixels: { name, bytes, degrees, upright }. */
export function turnedFaces() {
  return files('groups/rotated').map((file) => {
    const [, stem, degrees] = /^(\D+)(\d+)\.jpg$/.exec(basename(file));
    return {
      ...read(file),
      degrees: Number(degrees),
      upright: readFileSync(join(folder, 'groups/rotated', `${stem}0.jpg`)),
    };
  });
}

/** Images, each saved with every EXIF orientation: { name, bytes, upright }. `upright` has orientation 1. */
export function oriented() {
  return files('exif').map((file) => ({
    ...read(file),
    upright: readFileSync(file.replace(/_o\d\.\w+$/, '_o1.jpg')),
  }));
}

/** Group photos with hand-labelled boxes, without those marked to be ignored: { name, bytes, boxes }. */
export function labelled() {
  const boxes = new Map();
  for (const list of files('groups/dlib', /\.xml$/)) {
    for (const [, name, content] of readFileSync(list, 'latin1').matchAll(
      /<image file='([^']+)'[^>]*>(.*?)<\/image>/gs,
    )) {
      const known = boxes.get(name) ?? [];
      for (const [, attributes] of content.matchAll(/<box ([^>]*)>/g)) {
        const value = (key) => Number(new RegExp(`\\b${key}='(-?\\d+)'`).exec(attributes)?.[1] ?? 0);
        if (value('ignore') === 1) continue;
        const box = { x: value('left'), y: value('top'), width: value('width'), height: value('height') };
        // The lists name some images twice.
        if (!known.some((other) => intersectionOverUnion(other, box) > 0.5)) known.push(box);
      }
      boxes.set(name, known);
    }
  }
  return files('groups/dlib')
    .map(read)
    .filter(({ name }) => boxes.has(name))
    .map((image) => ({ ...image, boxes: boxes.get(image.name) }));
}

// `make` of a variant maps { pixels, width, height, face } to { image, move }. `pixels` and `image` are sharp
// objects, `face` is the face that the pipeline found, and `move` transforms positions.

const grey = '#808080';

const scaled = (k) => ({ ...still, a: k });

function turned(degrees) {
  return ({ pixels, width, height }) => {
    const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
    const across = Math.abs(width * cos) + Math.abs(height * sin);
    const down = Math.abs(width * sin) + Math.abs(height * cos);
    // Rotates around the centre of the image, which becomes the centre of the larger image.
    const [tx, ty] = [across - (cos * width - sin * height), down - (sin * width + cos * height)];
    const move = { a: cos, b: sin, tx: tx / 2, ty: ty / 2 };
    return { image: pixels.rotate(degrees, { background: grey }), move };
  };
}

const resized = (pixels, width, height, k) =>
  pixels.resize(Math.round(width * k), Math.round(height * k), { fit: 'fill' });

const shrunk =
  (k) =>
  ({ pixels, width, height }) => ({
    image: resized(pixels, width, height, k),
    move: scaled(Math.round(width * k) / width),
  });

/** Crops to `share` of the longer side of the face's box, around the centre of its landmarks. */
function closeUp(share) {
  return ({ pixels, width, height, face }) => {
    const side = Math.round(share * Math.max(face.box.width, face.box.height));
    const centre = mean(Object.values(face.landmarks));
    const [left, top] = [width, height].map((length, axis) =>
      Math.round(Math.min(Math.max(centre[axis] - side / 2, 0), length - side)),
    );
    const image = pixels.extract({ left, top, width: side, height: side });
    return { image, move: { ...still, tx: -left, ty: -top } };
  };
}

/** Shrinks the face to `side` pixels, in an image of 1600 x 1200. */
function tiny(side) {
  return async ({ pixels, width, height, face }) => {
    const k = side / Math.max(face.box.width, face.box.height);
    const [left, top] = [1090, 310];
    const input = await resized(pixels, width, height, k).png().toBuffer();
    const image = sharp({ create: { width: 1600, height: 1200, channels: 3, background: grey } });
    const move = { ...scaled(Math.round(width * k) / width), tx: left, ty: top };
    return { image: image.composite([{ input, left, top }]), move };
  };
}

/** Simulates a halftone print at 45 degrees with `dots` dots across the face, scanned with eight pixels per dot. */
function printed(dots) {
  const pitch = 8;
  return async ({ pixels, width, height, face }) => {
    const k = (pitch * dots) / Math.max(face.box.width, face.box.height);
    const { data, info } = await resized(pixels, width, height, k)
      .greyscale()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const turn = (2 * Math.PI) / (pitch * Math.SQRT2);
    for (let i = 0; i < data.length; i++) {
      const [x, y] = [i % info.width, Math.floor(i / info.width)];
      const threshold = 128 + 63 * (Math.cos((x + y) * turn) + Math.cos((x - y) * turn));
      data[i] = data[i] > threshold ? 255 : 0;
    }
    return { image: sharp(data, { raw: { ...info, channels: 1 } }), move: scaled(info.width / width) };
  };
}

const darkened = (k) => (level) => k * level;
const pale = (level) => 0.2 * level + 0.7;

/** `tone` maps grey levels from 0 to 1. `quality` is the JPEG quality. `asked` variants have stricter targets. */
export const variants = [
  { name: 'as it is', asked: true },
  ...[90, 180, 270].map((degrees) => ({ name: `turned by ${degrees}°`, asked: true, make: turned(degrees) })),
  ...[0.5, 0.25, 0.15].map((share) => ({ name: `shrunk to ${share}`, asked: true, make: shrunk(share) })),
  ...[0.25, 0.15].map((k) => ({ name: `darkened × ${k}`, asked: true, tone: darkened(k) })),
  { name: 'darkened, gamma 2.2 × 0.25', asked: true, tone: (level) => 0.25 * level ** 2.2 },
  { name: 'JPEG quality 20', asked: true, quality: 20 },
  ...[30, 45, 60].map((degrees) => ({ name: `turned by ${degrees}°`, make: turned(degrees) })),
  ...[0.8, 0.65, 0.5].map((share) => ({ name: `close-up, ${share} of the box`, make: closeUp(share) })),
  ...[24, 20].map((side) => ({ name: `tiny, ${side} px of 1600`, make: tiny(side) })),
  ...[24, 32].map((dots) => ({ name: `printed, ${dots} dots across`, make: printed(dots) })),
  { name: 'pale × 0.2 + 0.7', tone: pale },
  { name: 'darkened × 0.07', tone: darkened(0.07) },
  { name: 'turned by 90°, darkened × 0.15', make: turned(90), tone: darkened(0.15) },
  { name: 'turned by 180°, pale', make: turned(180), tone: pale },
];

/**
 * Variants with a person next to a larger portrait, on a page or a landscape. `side` is the size of the face's box in
 * the detector's input of 320 x 240 pixels.
 */
export const beside = [
  ...[10, 12, 14, 18, 24, 36].map((side) => ({ what: '12 megapixels', width: 4000, height: 3000, side })),
  ...[14, 16, 18, 20].map((side) => ({ what: '1.5 megapixels', width: 1400, height: 1050, side })),
  ...[90, 180, 270].flatMap((degrees) =>
    [9, 18].map((side) => ({
      what: `a scanned page, turned by ${degrees}°`,
      width: 2480,
      height: 3508,
      side,
      degrees,
      larger: 0.1,
    })),
  ),
].map((one) => ({
  degrees: 0,
  larger: 0.22,
  ...one,
  name: `beside a larger face, ${one.what}, ${one.side} px in the detector's input`,
}));

/** Returns a page with lines of text, drawn as grey bars. */
function page(width, height) {
  const lines = Array.from({ length: 40 }, (_item, i) => {
    const share = 0.3 + ((i * 37) % 50) / 100;
    return `<rect x="8%" y="${5 + 2.3 * i}%" width="${100 * share}%" height="0.7%" fill="#555"/>`;
  });
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="100%" height="100%" fill="#fff"/>${lines.join('')}</svg>`);
}

/** Resolves to a rotated portrait with a face box of `side` pixels: { input, size, move }. */
async function portraitOf({ pixels, width, height, face }, side, degrees) {
  const k = side / Math.max(face.box.width, face.box.height);
  const { data, info } = await resized(pixels.clone(), width, height, k)
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { image, move } = turned(degrees)({ pixels: sharp(data, { raw: info }), ...info });
  const { data: input, info: size } = await image.png().toBuffer({ resolveWithObject: true });
  const scale = info.width / width;
  return { input, size, move: { ...move, a: move.a * scale, b: move.b * scale } };
}

/**
 * Resolves to the image of a `beside` variant. `larger` is the larger face's share of the shorter side. `number`
 * selects the background.
 */
export async function besides({ width, height, side, degrees, larger }, source, other, number) {
  const frame = Math.min(320 / width, 240 / height);
  const small = await portraitOf(source, side / frame, degrees);
  const large = await portraitOf(other, larger * Math.min(width, height), 0);
  const landscapes = files('negatives');
  const background =
    number % 2 === 0 ? page(width, height) : readFileSync(landscapes[number % landscapes.length]);
  const [left, top] = [Math.round(width * 0.6), Math.round(height * 0.55)];
  const bytes = await sharp(background)
    .resize(width, height, { fit: 'fill' })
    .composite([
      { input: large.input, left: 0, top: 0 },
      { input: small.input, left, top },
    ])
    .removeAlpha()
    .jpeg({ quality: 90 })
    .toBuffer();
  const move = { ...small.move, tx: small.move.tx + left, ty: small.move.ty + top };
  return { bytes, move, larger: large.size };
}

const asItIs = ({ pixels }) => ({ image: pixels, move: still });

/** Resolves to the variant as a JPEG: { bytes, move }. */
export async function applied({ make = asItIs, tone = (level) => level, quality = 95 }, source) {
  const { image, move } = await make({ ...source, pixels: source.pixels.clone() });
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  const levels = data.map((level) => Math.round(255 * tone(level / 255)));
  return { bytes: await sharp(levels, { raw: info }).jpeg({ quality }).toBuffer(), move };
}
