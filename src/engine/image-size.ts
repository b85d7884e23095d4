/**
 * Returns the width and height that the first bytes of an image declare. Returns undefined if the image is not a
 * JPEG, PNG or WebP, or if the size comes later.
 */
export function declaredSize(head: Buffer): { width: number; height: number } | undefined {
  try {
    if (head.readUInt32BE(0) === 0x89504e47) {
      return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
    }
    if (head.readUInt16BE(0) === 0xffd8) return jpegSize(head);
    return head.toString('latin1', 8, 12) === 'WEBP' ? webpSize(head) : undefined;
  } catch (error) {
    // The bytes end before the size.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Markers from 0xC0 to 0xCF that are not a start of frame (ITU-T T.81, table B.1). */
const notStartOfFrame = [0xc4, 0xc8, 0xcc];

function jpegSize(head: Buffer) {
  for (let at = 2; ; at += 2 + head.readUInt16BE(at + 2)) {
    while (head.readUInt8(at + 1) === 0xff) at++;
    const marker = head.readUInt8(at + 1);
    if ((marker & 0xf0) === 0xc0 && !notStartOfFrame.includes(marker)) {
      return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    }
  }
}

/** RFC 9649, section 2.7; RFC 6386, section 9.1; WebP lossless, section 3. */
function webpSize(head: Buffer) {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: 1 + head.readUIntLE(24, 3), height: 1 + head.readUIntLE(27, 3) };
    case 'VP8L': {
      const sides = head.readUInt32LE(21);
      return { width: 1 + (sides & 0x3fff), height: 1 + ((sides >> 14) & 0x3fff) };
    }
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}
