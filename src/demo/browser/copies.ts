import { element, settings } from './dom.ts';
import { bytesText } from './words.ts';

/**
 * Makes upright previews of photos, scales down photos that are too large to send, and detects files that are
 * not photos.
 */

/**
 * The server applies the EXIF orientation of JPEG, PNG and WebP. All browsers do so for JPEG, but some do not for PNG
 * or WebP (Chromium ignores it in WebP). `previewOf` redraws a photo if this browser ignores its orientation.
 */

/** Maximum side length of a redrawn preview in pixels. */
const maxPixels = 2048;

/** Images of 2 × 1 pixels with orientation 6. Their width is 1 if the browser applies the orientation. */
const probes = {
  png: 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQAAAADcWUInAAAAGmVYSWZJSSoACAAAAAEAEgEDAAEAAAAGAAAAAAAAALdIESkAAAAKSURBVHicY2AAAAACAAFIr6RxAAAAAElFTkSuQmCC',
  webp: 'UklGRk4AAABXRUJQVlA4WAoAAAAIAAAAAQAAAAAAVlA4TA4AAAAvAQAAAAcQEf0PRET/A0VYSUYaAAAASUkqAAgAAAABABIBAwABAAAABgAAAAAAAAA=',
};
type Format = keyof typeof probes;
type Transform = [number, number, number, number, number, number];

/** Canvas transforms by EXIF orientation. Each makes an image of size 1 × 1 upright. */
const turns: Readonly<Record<number, Transform>> = {
  2: [-1, 0, 0, 1, 1, 0],
  3: [-1, 0, 0, -1, 1, 1],
  4: [1, 0, 0, -1, 0, 1],
  5: [0, 1, 1, 0, 0, 0],
  6: [0, 1, -1, 0, 1, 0],
  7: [0, -1, -1, 0, 1, 1],
  8: [0, -1, 1, 0, 0, 1],
};

/** The signatures of JPEG, PNG and WebP, as Latin-1. */
const signatures = [/^\xff\xd8\xff/, /^\x89PNG/, /^RIFF.{4}WEBP/s];

/** Returns an error for a file that is not a JPEG, PNG or WebP; undefined otherwise. */
export async function notPhoto(file: File): Promise<string | undefined> {
  const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  if (signatures.some((signature) => signature.test(head))) return undefined;
  const advice = /^.{4}ftyp(?:hei|hev|mif|msf)/s.test(head)
    ? 'It is a HEIC photo, the usual format of iPhones. Export it as JPEG.'
    : 'Choose another file.';
  return `${file.name} is not a JPEG, PNG or WebP photo. ${advice}`;
}

/** Returns the file or, if this browser ignores its orientation, an upright copy of at most `maxPixels` per side. */
export async function previewOf(file: Blob): Promise<Blob> {
  try {
    const found = orientationOf(new DataView(await file.arrayBuffer()));
    const turn = found && turns[found.orientation];
    return turn && !(await appliesOrientation(found.format)) ? await turned(file, turn) : file;
  } catch {
    // If the file is not an image, the server reports the error.
    return file;
  }
}

/** Returns a preview for a list. The preview is empty until loaded. */
export function previewImage(file: Blob): HTMLImageElement {
  const image = element('img', { alt: '' });
  // Shows a grey box instead of the browser's icon for a broken image.
  image.addEventListener('error', () => image.removeAttribute('src'));
  void previewOf(file).then((preview) => {
    image.src = URL.createObjectURL(preview);
  });
  return image;
}

/** Returns true if the browser applies the EXIF orientation of this format. */
async function appliesOrientation(format: Format): Promise<boolean> {
  const image = new Image();
  image.src = `data:image/${format};base64,${probes[format]}`;
  await image.decode();
  return image.naturalWidth === 1;
}

async function turned(file: Blob, turn: Transform): Promise<Blob> {
  const stored = await createImageBitmap(file);
  // A transform with turn[0] = 0 swaps width and height.
  const [width, height] = turn[0] === 0 ? [stored.height, stored.width] : [stored.width, stored.height];
  const scale = Math.min(1, maxPixels / Math.max(width, height));
  const canvas = new OffscreenCanvas(Math.round(width * scale), Math.round(height * scale));
  const context = canvas.getContext('2d')!;
  context.scale(canvas.width, canvas.height);
  context.transform(...turn);
  context.drawImage(stored, 0, 0, 1, 1);
  stored.close();
  return canvas.convertToBlob();
}

/**
 * Returns the EXIF orientation of a PNG or WebP; undefined if it has none. A PNG chunk (PNG, 3rd edition, sections
 * 5.3 and 11.3.4.5) has length, type, data and CRC, big-endian. A WebP chunk (RIFF) has type, length and data padded
 * to an even length, little-endian. Throws a RangeError for a truncated header or EXIF chunk.
 */
function orientationOf(bytes: DataView): { format: Format; orientation: number } | undefined {
  const isPng = word(bytes, 0) === '\x89PNG';
  if (!isPng && word(bytes, 8) !== 'WEBP') return undefined;
  for (let at = isPng ? 8 : 12; at + 8 <= bytes.byteLength; ) {
    const type = word(bytes, isPng ? at + 4 : at);
    const length = bytes.getUint32(isPng ? at : at + 4, !isPng);
    if (type.toLowerCase() === 'exif') {
      const orientation = tiffOrientation(new DataView(bytes.buffer, bytes.byteOffset + at + 8, length));
      return { format: isPng ? 'png' : 'webp', orientation };
    }
    at += isPng ? length + 12 : length + 8 + (length & 1);
  }
  return undefined;
}

/**
 * Reads the orientation (TIFF 6.0, section 2): byte order, then the first directory, whose entry 0x0112 is the
 * orientation. Some WebP encoders put JPEG's "Exif\0\0" before the byte order.
 */
function tiffOrientation(exif: DataView): number {
  const start = word(exif, 0) === 'Exif' ? 6 : 0;
  const little = word(exif, start).startsWith('II');
  const directory = start + exif.getUint32(start + 4, little);
  for (let i = 0; i < exif.getUint16(directory, little); i++) {
    const entry = directory + 2 + 12 * i;
    if (exif.getUint16(entry, little) === 0x0112) return exif.getUint16(entry + 8, little);
  }
  return 1;
}

/** Decodes four bytes as Latin-1. */
function word(bytes: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((i) => bytes.getUint8(at + i)));
}

/**
 * Maximum side length of a photo that the page scales down, in pixels. Faces keep more pixels than the models use.
 */
const maxSide = 4096;
const quality = 0.92;

/** Returns the note after the name of a photo that was scaled down. */
export function smallerNote(): string {
  const { max_image_bytes, max_pixels } = settings.limits;
  const limits = `${bytesText(max_image_bytes)} and ${Math.round(max_pixels / 1e6)} megapixels`;
  return ` (scaled down here: the maximum is ${limits})`;
}

/**
 * Returns the file itself, or a smaller JPEG if the file exceeds a limit of the server and this browser can
 * draw it.
 */
export async function fitted(file: File): Promise<File> {
  const { max_image_bytes, max_pixels } = settings.limits;
  try {
    if (file.size <= max_image_bytes && (await pixelsOf(file)) <= max_pixels) return file;
    const image = await createImageBitmap(await previewOf(file));
    const longer = Math.max(image.width, image.height);
    for (let scale = Math.min(1, maxSide / longer); scale * longer >= 1; scale *= 0.7) {
      const canvas = new OffscreenCanvas(Math.ceil(image.width * scale), Math.ceil(image.height * scale));
      canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
      const small = await canvas.convertToBlob({ type: 'image/jpeg', quality });
      if (small.size > max_image_bytes || canvas.width * canvas.height > max_pixels) continue;
      image.close();
      return new File([small], file.name, { type: small.type });
    }
  } catch {
    // This browser cannot draw the file.
  }
  return file;
}

async function pixelsOf(file: Blob): Promise<number> {
  const image = new Image();
  image.src = URL.createObjectURL(file);
  try {
    await image.decode();
    return image.naturalWidth * image.naturalHeight;
  } finally {
    URL.revokeObjectURL(image.src);
  }
}
