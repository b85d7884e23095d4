import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { Face, FoundBy, ImageReport } from '../engine/addon.ts';
import { codeOf } from './files.ts';

/** Image diagonal at which lines are one pixel wide. Line widths grow with the diagonal. */
const onePixelLineDiagonal_px = 800;

/** Colours that are easy to distinguish from each other and from skin. */
const colours: Record<FoundBy, string> = {
  primary: '#3cdc5a',
  tiled: '#28aaff',
  rotated: '#dc5aff',
  padded: '#ffc800',
  enhanced: '#ff503c',
};

/**
 * SVG matrix for each EXIF orientation (EXIF 2.32, 4.6.4). It maps the stored pixels to the upright image, whose
 * width and height are the arguments. In orientations 5 to 8 the stored width is the upright height.
 */
const matrices: Record<number, (width: number, height: number) => number[]> = {
  2: (width) => [-1, 0, 0, 1, width, 0],
  3: (width, height) => [-1, 0, 0, -1, width, height],
  4: (_, height) => [1, 0, 0, -1, 0, height],
  5: () => [0, 1, 1, 0, 0, 0],
  6: (width) => [0, 1, -1, 0, width, 0],
  7: (width, height) => [0, -1, -1, 0, width, height],
  8: (_, height) => [0, -1, 1, 0, 0, height],
};

/**
 * Returns an SVG of the upright image's size: the embedded file, and over it the box, landmarks and label
 * (index, detection score, found_by) of each face. `image-orientation: none` and a transform make every
 * viewer show the image upright.
 */
export function drawFaces(file: Uint8Array, image: ImageReport): string {
  const { width, height, format, orientation, faces } = image;
  const line = Math.max(1, Math.round(Math.hypot(width, height) / onePixelLineDiagonal_px));
  const matrix = matrices[orientation]?.(width, height);
  const stored = orientation >= 5 ? [height, width] : [width, height];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<image width="${stored[0]}" height="${stored[1]}" style="image-orientation:none"${
      matrix === undefined ? '' : ` transform="matrix(${matrix.join(' ')})"`
    } href="data:image/${format};base64,${Buffer.from(file).toString('base64')}"/>`,
    ...faces.map((face) => outline(face, line)),
    // Labels are drawn last, so that no box covers them.
    ...faces.map((face) => label(face, line, image)),
    '</svg>\n',
  ].join('\n');
}

/** Draws box and landmarks. A dark outline keeps them visible on a background of the same colour. */
function outline({ box, landmarks, found_by }: Face, line: number): string {
  const { x, y, width, height } = box;
  const rectangle = `<rect x="${x}" y="${y}" width="${width}" height="${height}"`;
  // Landmark coordinates refer to pixel centres, SVG coordinates to pixel corners.
  const dots = (radius: number) =>
    Object.values(landmarks).map(([px, py]) => `<circle cx="${px + 0.5}" cy="${py + 0.5}" r="${radius}"/>`);
  return [
    `<g fill="none" stroke="#000" stroke-width="${2 * line}">${rectangle}/></g>`,
    `<g fill="none" stroke="${colours[found_by]}" stroke-width="${line}">${rectangle}/></g>`,
    `<g fill="#000">${dots(2 * line).join('')}</g>`,
    `<g fill="${colours[found_by]}">${dots(line).join('')}</g>`,
  ].join('\n');
}

/** Places the label above the box if there is room, otherwise below or inside it, and within the image's width. */
function label({ index, box, detection_score, found_by }: Face, line: number, image: ImageReport): string {
  const text = `${index} ${detection_score.toFixed(3)} ${found_by}`;
  const [letters, margin] = [12 * line, 2 * line];
  // textLength gives the text the same width in every font.
  const textLength = 0.6 * letters * text.length;
  const [width, height] = [textLength + 2 * margin, letters + 2 * margin];
  const below = box.y + box.height + line;
  const inside = Math.max(box.y, 0);
  let y = box.y - line - height;
  if (y < 0) y = below + height > image.height ? inside : below;
  const x = Math.max(0, Math.min(box.x, image.width - width));
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}"/>`,
    `<text x="${x + margin}" y="${y + margin + 0.8 * letters}" font-family="monospace" font-size="${letters}" fill="#fff" textLength="${textLength}" lengthAdjust="spacingAndGlyphs">${text}</text>`,
  ].join('');
}

/**
 * Returns the path of each image's drawing. For several images, `out` is a folder, which is created if missing.
 * For one image, `out` is the file or an existing folder. Throws an Error whose message is meant for the user if
 * `out` cannot be used, or if a drawing would overwrite one of the images.
 */
export function drawingFiles(images: readonly string[], out: string): string[] {
  const asFolder = images.length > 1 || isFolder(out);
  if (asFolder) {
    try {
      mkdirSync(out, { recursive: true });
    } catch (error) {
      throw new Error(`--draw: the folder ${out} cannot be created (${codeOf(error)})`);
    }
  } else if (!/\.svg$/i.test(out))
    throw new Error(`--draw writes SVG: expected a file name that ends in .svg, not ${basename(out)}`);
  else if (!isFolder(dirname(out))) throw new Error(`--draw: the folder ${dirname(out)} does not exist`);
  const taken = new Set<string>();
  const drawings = images.map((image) => (asFolder ? join(out, freeName(image, taken)) : out));
  const given = new Set(images.map(identity));
  const lost = drawings.find((drawing) => given.has(identity(drawing)));
  if (lost !== undefined) throw new Error(`--draw would overwrite the image ${lost}`);
  return drawings;
}

/** Returns the image's name with the extension .svg, and with a number if another image has the same name. */
function freeName(image: string, taken: Set<string>): string {
  const stem = basename(image, extname(image));
  let name = `${stem}.svg`;
  for (let number = 2; taken.has(name); number++) name = `${stem}-${number}.svg`;
  taken.add(name);
  return name;
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Resolves a path, so that links to one file compare equal. */
function identity(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
