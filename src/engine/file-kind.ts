import { excerpt } from './client-input.ts';

/**
 * Kinds of data that are sent instead of a readable image: values of `detected`, for documents and details.
 */

interface Kind {
  meaning: string;
  /** Ends the sentence "this one …"; by default "is" and the meaning. */
  is?: string;
  /** True if the detail quotes its start. */
  quoted?: true;
  advice?: string;
}

const asPng = 'Save it as PNG or JPEG.';
const asBytes = 'read the file as bytes, and send these';

export const kinds = {
  heic: {
    meaning: 'HEIC or HEIF, as phones write it',
    is: 'looks like heic',
    advice: 'An iPhone converts it for a file input with accept="image/jpeg"; elsewhere use heif-convert.',
  },
  avif: { meaning: 'AVIF', is: 'looks like avif', advice: 'Convert it, as avifdec does.' },
  gif: { meaning: 'GIF', is: 'looks like gif', advice: asPng },
  bmp: { meaning: 'BMP', is: 'looks like bmp', advice: asPng },
  tiff: { meaning: 'TIFF', is: 'looks like tiff', advice: asPng },
  pdf: { meaning: 'PDF', is: 'looks like pdf', advice: 'Take the image out of it, as pdfimages does.' },
  jp2: {
    meaning: 'JPEG 2000, as on the chips of passports',
    is: 'is JPEG 2000',
    advice: 'Convert it, as opj_decompress does.',
  },
  jxl: { meaning: 'JPEG XL', advice: 'Convert it, as djxl does.' },
  arithmetic_jpeg: {
    meaning: 'a JPEG with arithmetic coding',
    advice: 'Save it again as an ordinary JPEG: jpegtran does so without loss.',
  },
  unusual_jpeg: {
    meaning: 'a lossless or hierarchical JPEG, or one of 12 bits a sample',
    advice: 'Save it again as an ordinary JPEG.',
  },
  unsupported_colours: {
    meaning: 'an image whose colours need an ICC profile with lookup tables, or HDR (PQ, HLG)',
    advice: 'Convert it to sRGB.',
  },
  video: {
    meaning: 'a film, such as MP4 or MOV',
    advice: 'Send one image of it: ffmpeg -i film.mp4 -frames:v 1 image.png writes the first.',
  },
  raw: {
    meaning: 'what a camera calls RAW, such as CR3, NEF, RAF or DNG',
    advice: 'Let the camera write JPEG too, or develop it, as dcraw_emu and every photo editor do.',
  },
  appledouble: {
    meaning: 'AppleDouble: metadata that macOS stores next to a file as ._NAME',
    advice: 'Send the file of that name without the "._".',
  },
  psd: { meaning: 'a Photoshop document', advice: 'Export it as JPEG or PNG.' },
  zip: { meaning: 'a ZIP archive', advice: 'Unpack it, and send the image.' },
  gzip: { meaning: 'compressed by gzip', advice: 'Unpack it, as gunzip does, and send the image.' },
  svg: {
    meaning: 'SVG, a drawing',
    advice: 'Send a photo; a browser or rsvg-convert turns a drawing into PNG.',
  },
  xcode_png: {
    meaning: 'a PNG that Xcode packed into an app, which other programs cannot read',
    advice: 'Send the PNG from before, or unpack it: pngcrush -revert-iphone-optimizations does.',
  },
  jpeg_as_text: {
    meaning: 'a JPEG that a program read or wrote as text',
    is: 'is a JPEG that a program read or wrote as text, which destroys it',
    advice: `Where the image is still whole, ${asBytes}.`,
  },
  html: {
    meaning: 'an HTML page',
    advice: 'It may contain the error of the server from which the image was fetched.',
  },
  base64: {
    meaning: 'base64',
    advice: 'Decode it, and send the bytes; only JSON takes base64.',
  },
  data_url: {
    meaning: 'a data: URL',
    advice:
      'Send the bytes that it stands for: decode the base64 behind its comma. In JSON send that base64.',
  },
  url: {
    meaning: 'a URL',
    quoted: true,
    advice: 'Addresses are not fetched: send the bytes of the image.',
  },
  path: {
    meaning: 'the name of a file',
    quoted: true,
    advice:
      'Send the bytes of the file: with curl by an @ before the name, -F image1=@one.jpg; in PHP by a CURLFile.',
  },
  text: { meaning: 'other text', is: 'is text', quoted: true, advice: `To send an image, ${asBytes}.` },
  unknown: { meaning: 'none of these', is: 'is of no kind that is known here' },
} as const satisfies Record<string, Kind>;

export type Detected = keyof typeof kinds;

/** A program wrote an object instead of the bytes. */
const objectAdvice =
  'A program wrote an object as text: give it a Blob, a File or a Buffer, or in React Native an object with uri, type and name.';

/** Ends the sentence "Send … as JPEG, PNG or WebP; this one …". */
export function kindText({ detected, beginning = '', position }: Sniffed): string {
  const { meaning, is = `is ${meaning}`, quoted, advice }: Kind = kinds[detected];
  const words = quoted && beginning !== '' ? `${is}, ${excerpt(beginning, '"')}.` : `${is}.`;
  if (position !== undefined) {
    const found = `A JPEG begins at its byte ${position}, counted from 0: send it from there.`;
    return detected === 'unknown' ? `does not begin as an image. ${found}` : `${words} ${found}`;
  }
  const hint = beginning.startsWith('[object ') ? objectAdvice : advice;
  return hint === undefined ? words : `${words} ${hint}`;
}

/** Recognises text that was sent instead of an image, after no decoder recognised the bytes. */

export interface Sniffed {
  detected: Detected;
  /** Its start, if it is text. */
  beginning?: string;
  /** Offset at which a JPEG begins after other bytes. */
  position?: number;
}

/**
 * Refines the outcome of an image: distinguishes text, and bytes before a JPEG, from other bytes that no
 * decoder recognises.
 */
export function detectText<T extends { ok: boolean; code?: string; detected?: string }>(
  outcome: T,
  bytes: Uint8Array,
): T {
  if (outcome.code !== 'unsupported_image_format' || outcome.detected !== 'unknown') return outcome;
  const position = jpegAt(bytes);
  // Copied because TextDecoder rejects shared memory.
  const text = decoded(Uint8Array.from(bytes.subarray(0, Math.min(position ?? Infinity, sample_bytes))));
  if (position !== undefined) {
    const before = text !== undefined && text.trim() !== '' && isPlain(text) ? kindOfText(text) : {};
    return { ...outcome, ...before, position };
  }
  if (text === undefined) return outcome;
  if (isJpegAsText(text)) return { ...outcome, detected: 'jpeg_as_text' };
  return isPlain(text) || imageAsText.test(text) ? { ...outcome, ...kindOfText(text) } : outcome;
}

const sample_bytes = 1024;

/** Longer than a newline, a script's warning or the headers of a part. */
const maxBefore_bytes = 64 * 1024;

/** Start of a JPEG: SOI, the whole segment of the first marker, and another marker (ITU-T T.81, B.1.1). */
function jpegAt(bytes: Uint8Array): number | undefined {
  const { length } = bytes;
  for (let at = 0; at < Math.min(length - 6, maxBefore_bytes); at++) {
    if (bytes[at] !== 0xff || bytes[at + 1] !== 0xd8 || bytes[at + 2] !== 0xff) continue;
    const marker = bytes[at + 3]!;
    const next = at + 4 + bytes[at + 4]! * 256 + bytes[at + 5]!;
    const isFirst = marker >= 0xe0 || marker === 0xdb || marker === 0xdd || (marker & 0xf0) === 0xc0;
    if (isFirst && (next >= length || bytes[next] === 0xff)) return at;
  }
  return undefined;
}

/** Recognises text that was sent instead of an image. */
export function kindOfText(text: string): Sniffed {
  const beginning = text.trim();
  const [detected = 'text'] = textKinds.find(([, matches]) => matches(beginning)) ?? [];
  return { detected, beginning };
}

/** Returns true if it has no control characters except white space. */
const isPlain = (text: string) => text !== '' && !/(?!\s)\p{Cc}/u.test(text);

/**
 * Decodes UTF-8 or UTF-16, otherwise Windows-1252 if that is likely. A character that the sample cuts is
 * omitted.
 */
function decoded(sample: Uint8Array): string | undefined {
  const decode = (encoding: string) => {
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(sample, { stream: true });
    } catch {
      return undefined;
    }
  };
  const wide = wideEncoding(sample);
  if (wide !== undefined) return decode(wide);
  const ascii = sample.filter((byte) => byte >= 0x20 && byte < 0x7f).length;
  return decode('utf-8') ?? (ascii > 0.75 * sample.length ? decode('windows-1252') : undefined);
}

/** UTF-16 is detected by its byte-order mark, or by the zero bytes of Latin-1 letters. */
function wideEncoding([first, second, third, fourth]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first && second === 0 && third && fourth === 0) return 'utf-16le';
  return first === 0 && second && third === 0 && fourth ? 'utf-16be' : undefined;
}

/**
 * Start of a JPEG: FF D8 FF, as decoders of UTF-8 replace it, and as Latin-1 and the code pages 437 and 850
 * decode it.
 */
const jpegStart = /^(?:\ufffd{3}|ÿØÿ|\u00a0[╪Ï]\u00a0)/;
/** Its bytes as JavaScript and Python print them. */
const jpegList =
  /^(?:(?:\{"type":"Buffer","data":)?\[?255, ?216, ?255,|\{"0":255,"1":216,|(?:b['"])?\\xff\\xd8)/;

/** The name of its first block, from the seventh byte, survives every decoder. */
function isJpegAsText(text: string): boolean {
  const named = ['JFIF\0', 'Exif\0\0'].some((name) => text.slice(0, 14).includes(name));
  return named || jpegList.test(text) || (jpegStart.test(text) && !isPlain(text));
}

/** A PNG or a WebP that was decoded as text. */
const imageAsText = /^(?:.PNG|RIFF.{1,12}WEBP)/su;

/** Base64 of JPEG, PNG, WebP, GIF and HEIC, with possible prefixes. */
const base64Image = /^(?:b?['"])?(?:(?:[/_]|%2F)9j(?:[/_]|%2F)|iVBORw0KGgo|UklGR|R0lGODlh|AAAA..Z0eXB)/i;
/** The same formats as bytes in Latin-1. */
const binaryImage = /^(?:\xff\xd8\xff|\x89PNG|RIFF.{4}WEBP|GIF8|.{4}ftyp(?:hei|hev|mif1|avi))/s;

/** Returns true if the bytes begin like an image, or like one in base64. For fields that are unknown. */
export function holdsImage(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, beginning_bytes);
  // JSON may escape slashes (RFC 8259 section 7).
  const base64 = text.replaceAll('\\/', '/').replace(/^data:[^,]*,/i, '');
  return binaryImage.test(text) || base64Image.test(base64);
}

const beginning_bytes = 128;

/** Tags that an HTML page begins with (WHATWG MIME Sniffing, section 7.1). */
const htmlTag =
  /^(?:<\?xml[^>]*>\s*)?<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>/])/i;
/** It may follow declarations and comments. */
const svgTag = /^(?:<\?[^>]*>\s*|<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:!doctype svg|(?:svg:)?svg)[\s>/]/i;
const scheme = /^["']?(?:[a-z][a-z\d+.-]+:\/\/|(?:blob|file|content|ph|asset|cid):|www\.)\S+$/i;
const rooted = /^["']?(?:@\S|~?\/|\.{1,2}[\\/]|\\\\|[a-z]:[\\/])/i;
const imageName =
  /\S\.(?:jpe?g|jpe|jfif|png|webp|hei[cf]|avif|gif|bmp|tiff?|jp2|j2k|jxl|pdf)["']?(?:\s*;\s*type=\S+)?$/i;

const isLine = (text: string) => !/[\r\n]/.test(text) && text.length < sample_bytes;

/** The first match counts. */
const textKinds: readonly (readonly [Detected, (text: string) => boolean])[] = [
  ['data_url', (text) => /^["']?data:[\w.+-]*[/;,]/i.test(text)],
  ['svg', (text) => svgTag.test(text)],
  ['html', (text) => htmlTag.test(text)],
  ['base64', (text) => base64Image.test(text) || isBase64(text)],
  ['url', (text) => scheme.test(text)],
  ['path', (text) => isLine(text) && (rooted.test(text) || imageName.test(text))],
];

/** Matches long lines of the base64 alphabet, with letters of both cases and digits. */
function isBase64(text: string): boolean {
  const whole = /^["']?[\w+/-]{60}/.test(text) && /^["']?[\w+/\r\n-]+=*["']?$/.test(text);
  return whole && [/[a-z]/, /[A-Z]/, /\d/].every((some) => some.test(text));
}
