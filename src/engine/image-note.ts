import { hash } from 'node:crypto';

/** What a log line may say of a picture that did harm: enough to find it among one's own, and nothing to see. */
export interface PictureNote {
  bytes: number;
  /** By its first bytes. */
  format: 'jpeg' | 'png' | 'webp' | 'unknown';
  /** The first 16 digits. */
  sha256: string;
}

export function noteOf(picture: Uint8Array): PictureNote {
  // A copy, because hash() takes no shared memory.
  const bytes = Buffer.from(picture);
  return { bytes: bytes.length, format: formatOf(bytes), sha256: hash('sha256', bytes).slice(0, 16) };
}

function formatOf(bytes: Buffer): PictureNote['format'] {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  return /^RIFF[\s\S]{4}WEBP/.test(start) ? 'webp' : 'unknown';
}
