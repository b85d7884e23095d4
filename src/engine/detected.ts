import { printable } from '../errors.ts';

/** What was sent in place of a picture that can be read: the words of `detected`, for documents and for details. */

interface Kind {
  /** For the documents. */
  meaning: string;
  /** Ends "this one …"; by default "looks like" and the word. */
  is?: string;
  /** The detail repeats how it begins. */
  quoted?: true;
  /** What to do about it. */
  advice?: string;
}

const asBytes = 'read the file as bytes, and send these';

export const kinds = {
  heic: {
    meaning: 'HEIC or HEIF, as phones write it',
    advice: 'An iPhone converts it for a file input with accept="image/jpeg"; elsewhere use heif-convert.',
  },
  avif: { meaning: 'AVIF' },
  gif: { meaning: 'GIF' },
  bmp: { meaning: 'BMP' },
  tiff: { meaning: 'TIFF' },
  pdf: { meaning: 'PDF' },
  jp2: {
    meaning: 'JPEG 2000, as on the chips of passports',
    is: 'is JPEG 2000',
    advice: 'Convert it, as opj_decompress does.',
  },
  jxl: { meaning: 'JPEG XL', is: 'is JPEG XL', advice: 'Convert it, as djxl does.' },
  arithmetic_jpeg: {
    meaning: 'a JPEG with arithmetic coding',
    is: 'is a JPEG with arithmetic coding',
    advice: 'Save it again as an ordinary JPEG: jpegtran does so without loss.',
  },
  unusual_jpeg: {
    meaning: 'a lossless or hierarchical JPEG, or one of 12 bits a sample',
    is: 'is a lossless or hierarchical JPEG, or one of 12 bits a sample',
    advice: 'Save it again as an ordinary JPEG.',
  },
  jpeg_as_text: {
    meaning: 'a JPEG that a program read or wrote as text',
    is: 'is a JPEG that a program read or wrote as text, which destroys it',
    advice: `Where the picture is still whole, ${asBytes}.`,
  },
  html: {
    meaning: 'an HTML page',
    is: 'is an HTML page',
    advice: 'It may tell what went wrong where the picture was to be fetched.',
  },
  base64: {
    meaning: 'base64',
    is: 'is base64',
    advice: 'Decode it, and send the bytes; only JSON takes base64.',
  },
  data_url: {
    meaning: 'a data: URL',
    is: 'is a data: URL',
    advice:
      'Send the bytes that it stands for: decode the base64 behind its comma. In JSON send that base64.',
  },
  url: {
    meaning: 'an address',
    is: 'is an address',
    quoted: true,
    advice: 'Addresses are not fetched: send the bytes of the picture.',
  },
  path: {
    meaning: 'the name of a file',
    is: 'is the name of a file',
    quoted: true,
    advice:
      'Send the bytes of the file: with curl by an @ before the name, -F image1=@one.jpg; in PHP by a CURLFile.',
  },
  text: { meaning: 'other text', is: 'is text', quoted: true, advice: `To send a picture, ${asBytes}.` },
  unknown: { meaning: 'none of these', is: 'is of no kind that is known here' },
} as const satisfies Record<string, Kind>;

export type Detected = keyof typeof kinds;

/** A program has put an object where the bytes should be. */
const objectAdvice =
  'A program wrote an object as text: give it a Blob, a File or a Buffer, or in React Native an object with uri, type and name.';

/** Ends "Send … as JPEG, PNG or WebP; this one …". */
export function kindWords(detected: Detected, beginning = ''): string {
  const { is = `looks like ${detected}`, quoted, advice }: Kind = kinds[detected];
  const words = quoted && beginning !== '' ? `${is}, ${printable(beginning, '"')}.` : `${is}.`;
  const told = beginning.startsWith('[object ') ? objectAdvice : advice;
  return told === undefined ? words : `${words} ${told}`;
}
