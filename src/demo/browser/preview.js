import { orientationOf } from './orientation.js';

/**
 * Previews that stand upright. The server turns pictures of all three formats by their EXIF orientation; every browser
 * does so with JPEG, but not every one with PNG and WebP (Chromium leaves WebP as it lies). So where a PNG or WebP has
 * an orientation that this browser overlooks, the preview is drawn anew.
 */

/** Longest side of a preview that is drawn here: no screen shows more of it. */
const most_pixels = 2048;

/** Two pixels side by side, black, orientation 6: one above the other where the browser turns pictures of the format. */
const probes = {
  png: 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQAAAADcWUInAAAAGmVYSWZJSSoACAAAAAEAEgEDAAEAAAAGAAAAAAAAALdIESkAAAAKSURBVHicY2AAAAACAAFIr6RxAAAAAElFTkSuQmCC',
  webp: 'UklGRk4AAABXRUJQVlA4WAoAAAAIAAAAAQAAAAAAVlA4TA4AAAAvAQAAAAcQEf0PRET/A0VYSUYaAAAASUkqAAgAAAABABIBAwABAAAABgAAAAAAAAA=',
};

/**
 * Where a picture's pixels go as they lie, as a canvas transform of a picture of 1 × 1, by EXIF orientation.
 * @type {Readonly<Record<number, [number, number, number, number, number, number]>>}
 */
const turns = {
  2: [-1, 0, 0, 1, 1, 0],
  3: [-1, 0, 0, -1, 1, 1],
  4: [1, 0, 0, -1, 0, 1],
  5: [0, 1, 1, 0, 0, 0],
  6: [0, 1, -1, 0, 1, 0],
  7: [0, -1, -1, 0, 1, 1],
  8: [0, -1, 1, 0, 0, 1],
};

/**
 * The file itself, or a small upright copy of it for the eye. The file that is sent is never changed.
 * @param {Blob} file
 * @returns {Promise<Blob>}
 */
export async function previewOf(file) {
  try {
    const found = orientationOf(new DataView(await file.arrayBuffer()));
    const turn = found && turns[found.orientation];
    return turn && !(await isTurned(found.format)) ? await turned(file, turn) : file;
  } catch {
    // No picture, or none that this browser can draw: what it is, the server says.
    return file;
  }
}

/**
 * Whether this browser turns pictures of the format by itself.
 * @param {keyof typeof probes} format
 */
async function isTurned(format) {
  const image = new Image();
  image.src = `data:image/${format};base64,${probes[format]}`;
  await image.decode();
  return image.naturalWidth === 1;
}

/**
 * @param {Blob} file
 * @param {[number, number, number, number, number, number]} turn
 * @returns {Promise<Blob>}
 */
async function turned(file, turn) {
  const lying = await createImageBitmap(file);
  // On its side when x does not come from x.
  const [wide, high] = turn[0] === 0 ? [lying.height, lying.width] : [lying.width, lying.height];
  const scale = Math.min(1, most_pixels / Math.max(wide, high));
  const canvas = new OffscreenCanvas(Math.round(wide * scale), Math.round(high * scale));
  const context = canvas.getContext('2d');
  if (context === null) return file;
  context.scale(canvas.width, canvas.height);
  context.transform(...turn);
  context.drawImage(lying, 0, 0, 1, 1);
  lying.close();
  return canvas.convertToBlob();
}
