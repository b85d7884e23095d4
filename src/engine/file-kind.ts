import { excerpt } from './client-input.ts';

/** Kinds of data that clients send instead of a supported image: the values of `detected`. */

interface Kind {
  meaning: string;
  /** Completes the sentence "It …"; by default "is" and the meaning. */
  is?: string;
  /** True if `detail` quotes the beginning of the data. */
  quoted?: true;
  advice?: string;
}

const asPng = 'Save it as PNG or JPEG.';
const asBytes = 'read the file as bytes, and send the bytes';

export const kinds = {
  heic: {
    meaning: 'HEIC or HEIF, the usual format of phones',
    is: 'looks like heic',
    advice: 'An iPhone converts it for a file input with accept="image/jpeg". Elsewhere use heif-convert.',
  },
  avif: { meaning: 'AVIF', is: 'looks like avif', advice: 'Convert it, for example with avifdec.' },
  gif: { meaning: 'GIF', is: 'looks like gif', advice: asPng },
  bmp: { meaning: 'BMP', is: 'looks like bmp', advice: asPng },
  tiff: { meaning: 'TIFF', is: 'looks like tiff', advice: asPng },
  pdf: { meaning: 'PDF', is: 'looks like pdf', advice: 'Extract the image, for example with pdfimages.' },
  jp2: {
    meaning: 'JPEG 2000, as in passport chips',
    is: 'is JPEG 2000',
    advice: 'Convert it, for example with opj_decompress.',
  },
  jxl: { meaning: 'JPEG XL', advice: 'Convert it, for example with djxl.' },
  arithmetic_jpeg: {
    meaning: 'a JPEG with arithmetic coding',
    advice: 'Convert it to a baseline JPEG; jpegtran does so without loss.',
  },
  unusual_jpeg: {
    meaning: 'a lossless or hierarchical JPEG, or a JPEG with 12 bits per sample',
    advice: 'Save it as a baseline JPEG.',
  },
  unsupported_colours: {
    meaning: 'an image whose colours need an ICC profile with lookup tables, or HDR (PQ, HLG)',
    advice: 'Convert it to sRGB.',
  },
  video: {
    meaning: 'a video, such as MP4 or MOV',
    advice: 'Send one frame. This command extracts the first: ffmpeg -i video.mp4 -frames:v 1 image.png',
  },
  raw: {
    meaning: 'a camera RAW file, such as CR3, NEF, RAF or DNG',
    advice: 'Set the camera to store JPEG too, or convert the file with a photo editor or dcraw_emu.',
  },
  appledouble: {
    meaning: 'AppleDouble: metadata that macOS stores beside a file as ._NAME',
    advice: 'Send the file whose name has no "._" at the beginning.',
  },
  psd: { meaning: 'a Photoshop document', advice: 'Export it as JPEG or PNG.' },
  zip: { meaning: 'a ZIP archive', advice: 'Unpack it, and send the image.' },
  gzip: {
    meaning: 'compressed with gzip',
    advice: 'Decompress it, for example with gunzip, and send the image.',
  },
  svg: {
    meaning: 'SVG, a vector drawing',
    advice: 'Send a photo. A browser or rsvg-convert converts a drawing to PNG.',
  },
  xcode_png: {
    meaning: 'a PNG in the format that Xcode packs into apps, which other programs cannot read',
    advice: 'Send the original PNG, or convert it with pngcrush -revert-iphone-optimizations.',
  },
  jpeg_as_text: {
    meaning: 'a JPEG that a program read or wrote as text',
    is: 'is a JPEG that a program read or wrote as text, which damages it',
    advice: `With the original file, ${asBytes}.`,
  },
  html: {
    meaning: 'an HTML page',
    advice: 'It may contain the error of the server from which the image was fetched.',
  },
  base64: {
    meaning: 'base64',
    advice: 'Decode it, and send the bytes. Only a JSON body may contain base64.',
  },
  data_url: {
    meaning: 'a data: URL',
    advice: 'Decode the base64 after the comma, and send the bytes. In a JSON body, send the base64 itself.',
  },
  url: {
    meaning: 'a URL',
    quoted: true,
    advice: 'The server does not fetch URLs. Send the bytes of the image.',
  },
  path: {
    meaning: 'the name of a file',
    quoted: true,
    advice:
      'Send the bytes of the file. In curl, put an @ before the name: -F image1=@one.jpg. In PHP, use a CURLFile.',
  },
  text: { meaning: 'other text', is: 'is text', quoted: true, advice: `To send an image, ${asBytes}.` },
  unknown: { meaning: 'an unknown kind of file', is: 'is of an unknown kind' },
} as const satisfies Record<string, Kind>;

export type Detected = keyof typeof kinds;

/** Advice for text such as "[object Object]". */
const objectAdvice =
  'A program converted an object to text. Pass a Blob, a File or a Buffer; in React Native, an object with uri, type and name.';

/** Completes the text "Send … as JPEG, PNG or WebP. It …". */
export function kindText({ detected, beginning = '', position }: Sniffed): string {
  const { meaning, is = `is ${meaning}`, quoted, advice }: Kind = kinds[detected];
  const words = quoted && beginning !== '' ? `${is}, ${excerpt(beginning, '"')}.` : `${is}.`;
  if (position !== undefined) {
    const found = `A JPEG begins at byte offset ${position}. Remove the bytes before it.`;
    return detected === 'unknown' ? `does not begin with an image. ${found}` : `${words} ${found}`;
  }
  const hint = beginning.startsWith('[object ') ? objectAdvice : advice;
  return hint === undefined ? words : `${words} ${hint}`;
}

export interface Sniffed {
  detected: Detected;
  /** The beginning of the data, if it is text. */
  beginning?: string;
  /** Offset at which a JPEG begins after other bytes. */
  position?: number;
}

/**
 * Checks data that no decoder recognised for text, and for a JPEG after other bytes. Returns the outcome with
 * these findings.
 */
export function detectText<T extends { ok: boolean; code?: string; detected?: string }>(
  outcome: T,
  bytes: Uint8Array,
): T {
  if (outcome.code !== 'unsupported_image_format' || outcome.detected !== 'unknown') return outcome;
  const position = jpegAt(bytes);
  // Copied, so that the text decoder reads memory that no other thread writes.
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

/** Maximum number of bytes before a JPEG, such as a script's warning or the headers of a form part. */
const maxBefore_bytes = 64 * 1024;

/** Finds a JPEG: SOI, the segment of the first marker, and another marker (ITU-T T.81, B.1.1). */
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

/** Returns true for text without control characters except white space. */
const isPlain = (text: string) => text !== '' && !/(?!\s)\p{Cc}/u.test(text);

/**
 * Decodes the sample as UTF-8, UTF-16 or, if likely, Windows-1252. Omits an incomplete character at the end of the
 * sample.
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

/** Detects UTF-16 by its byte order mark, or by the zero bytes of Latin-1 letters. */
function wideEncoding([first, second, third, fourth]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first && second === 0 && third && fourth === 0) return 'utf-16le';
  return first === 0 && second && third === 0 && fourth ? 'utf-16be' : undefined;
}

/** The first bytes of a JPEG, FF D8 FF, decoded as UTF-8, as Latin-1, and in the code pages 437 and 850. */
const jpegStart = /^(?:\ufffd{3}|ÿØÿ|\u00a0[╪Ï]\u00a0)/;
/** The first bytes of a JPEG in the notations of JavaScript and Python. */
const jpegList =
  /^(?:(?:\{"type":"Buffer","data":)?\[?255, ?216, ?255,|\{"0":255,"1":216,|(?:b['"])?\\xff\\xd8)/;

/**
 * Returns true for a JPEG that was decoded as text. Every text decoder preserves the ASCII name of the JPEG's
 * first segment.
 */
function isJpegAsText(text: string): boolean {
  const named = ['JFIF\0', 'Exif\0\0'].some((name) => text.slice(0, 14).includes(name));
  return named || jpegList.test(text) || (jpegStart.test(text) && !isPlain(text));
}

/** Matches a PNG or WebP that was decoded as text. */
const imageAsText = /^(?:.PNG|RIFF.{1,12}WEBP)/su;

/** Matches base64 of JPEG, PNG, WebP, GIF and files such as HEIC, with optional prefixes. */
const base64Image = /^(?:b?['"])?(?:(?:[/_]|%2F)9j(?:[/_]|%2F)|iVBORw0KGgo|UklGR|R0lGODlh|AAAA..Z0eXB)/i;
/** Matches the bytes of JPEG, PNG, WebP, GIF, HEIC and AVIF in Latin-1. */
const binaryImage = /^(?:\xff\xd8\xff|\x89PNG|RIFF.{4}WEBP|GIF8|.{4}ftyp(?:hei|hev|mif1|avi))/s;

/** Returns true if the bytes of an unknown field begin like an image or a base64 image. */
export function holdsImage(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, beginning_bytes);
  // JSON may escape slashes (RFC 8259 section 7).
  const base64 = text.replaceAll('\\/', '/').replace(/^data:[^,]*,/i, '');
  return binaryImage.test(text) || base64Image.test(base64);
}

const beginning_bytes = 128;

/** Matches the tags with which an HTML page begins (WHATWG MIME Sniffing, section 7.1). */
const htmlTag =
  /^(?:<\?xml[^>]*>\s*)?<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>/])/i;
/** Matches an SVG tag, which may follow declarations and comments. */
const svgTag = /^(?:<\?[^>]*>\s*|<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:!doctype svg|(?:svg:)?svg)[\s>/]/i;
const scheme = /^["']?(?:[a-z][a-z\d+.-]+:\/\/|(?:blob|file|content|ph|asset|cid):|www\.)\S+$/i;
const rooted = /^["']?(?:@\S|~?\/|\.{1,2}[\\/]|\\\\|[a-z]:[\\/])/i;
const imageName =
  /\S\.(?:jpe?g|jpe|jfif|png|webp|hei[cf]|avif|gif|bmp|tiff?|jp2|j2k|jxl|pdf)["']?(?:\s*;\s*type=\S+)?$/i;

const isLine = (text: string) => !/[\r\n]/.test(text) && text.length < sample_bytes;

/** Kinds of text in the order in which they are checked. */
const textKinds: readonly (readonly [Detected, (text: string) => boolean])[] = [
  ['data_url', (text) => /^["']?data:[\w.+-]*[/;,]/i.test(text)],
  ['svg', (text) => svgTag.test(text)],
  ['html', (text) => htmlTag.test(text)],
  ['base64', (text) => base64Image.test(text) || isBase64(text)],
  ['url', (text) => scheme.test(text)],
  ['path', (text) => isLine(text) && (rooted.test(text) || imageName.test(text))],
];

/** Returns true for long lines of the base64 alphabet that contain digits and letters of both cases. */
function isBase64(text: string): boolean {
  const whole = /^["']?[\w+/-]{60}/.test(text) && /^["']?[\w+/\r\n-]+=*["']?$/.test(text);
  return whole && [/[a-z]/, /[A-Z]/, /\d/].every((some) => some.test(text));
}
