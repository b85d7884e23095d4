/** Reads how a PNG or WebP lies. Of JPEG every browser knows it by itself. */

/**
 * The EXIF orientation, 2..8 where the picture is to be turned; undefined where there is none to be read. Throws a
 * RangeError for a picture that ends early.
 * @param {DataView} bytes
 */
export function orientationOf(bytes) {
  const format = formatOf(bytes);
  if (format === undefined) return undefined;
  const exif = exifOf(bytes, format);
  return exif && { format, orientation: tiffOrientation(exif) };
}

/**
 * @param {DataView} bytes
 * @returns {'png' | 'webp' | undefined}
 */
function formatOf(bytes) {
  if (bytes.byteLength < 12) return undefined;
  if (word(bytes, 0) === '\x89PNG') return 'png';
  return word(bytes, 0) === 'RIFF' && word(bytes, 8) === 'WEBP' ? 'webp' : undefined;
}

/**
 * The EXIF block: PNG 3rd edition section 11.3.3.5 (chunks: length, type, data, CRC, big-endian) or WebP container
 * specification (RIFF chunks: type, length, data, padded to even, little-endian).
 * @param {DataView} bytes
 * @param {'png' | 'webp'} format
 */
function exifOf(bytes, format) {
  const isPng = format === 'png';
  const wanted = isPng ? 'eXIf' : 'EXIF';
  for (let at = isPng ? 8 : 12; at + 8 <= bytes.byteLength; ) {
    const type = word(bytes, isPng ? at + 4 : at);
    const length = bytes.getUint32(isPng ? at : at + 4, !isPng);
    if (type === wanted) return new DataView(bytes.buffer, bytes.byteOffset + at + 8, length);
    at += isPng ? length + 12 : length + 8 + (length & 1);
  }
  return undefined;
}

/**
 * TIFF 6.0 section 2: byte order, then the first directory, whose entry 0x0112 is the orientation. Writers of WebP put
 * JPEG's "Exif\0\0" before it now and then.
 * @param {DataView} exif
 */
function tiffOrientation(exif) {
  const start = word(exif, 0) === 'Exif' ? 6 : 0;
  const little = word(exif, start).startsWith('II');
  const directory = start + exif.getUint32(start + 4, little);
  const entries = exif.getUint16(directory, little);
  for (let i = 0; i < entries; i += 1) {
    const entry = directory + 2 + 12 * i;
    if (exif.getUint16(entry, little) === 0x0112) return exif.getUint16(entry + 8, little);
  }
  return 1;
}

/**
 * Four bytes as Latin-1.
 * @param {DataView} bytes
 * @param {number} at
 */
function word(bytes, at) {
  return String.fromCharCode(...Array.from({ length: 4 }, (_, i) => bytes.getUint8(at + i)));
}
