import { crc32, deflateSync } from 'node:zlib';
import type { NativeAddon } from './addon.ts';

/**
 * One real inference through every net, on a drawing: the first run of a session allocates its buffers and touches its
 * weights, and a pack that loads but does not run must be found out before a client does.
 */
export function warmUp(addon: NativeAddon, pack_directory: string): void {
  const picture = drawing();
  const outcome = addon.match(
    pack_directory,
    new Uint8Array(Buffer.concat([picture, picture])),
    { start: 0, end: picture.length },
    { start: picture.length, end: 2 * picture.length },
    {
      accuracy_mode: 'balance',
      min_det_score: 0.5,
      use_heuristic_fallback: false,
      image1_face_index: -1,
      image2_face_index: -1,
      auto_pair_best: false,
      max_pixels: width * height,
      min_side: 1,
    },
  );
  // A detector that is not taken in by the drawing is none the worse for it; the default pack's is.
  if (!outcome.ok && outcome.code !== 'no_face_found') {
    throw new Error(`The first inference failed: ${JSON.stringify(outcome)}`);
  }
}

const width = 240;
const height = 240;

interface Ellipse {
  x: number;
  y: number;
  rx: number;
  ry: number;
  rgb: readonly [number, number, number];
}

/** Painted in this order: hair, face, brows, eyes, nose, mouth. */
const ellipses: readonly Ellipse[] = [
  { x: 120, y: 112, rx: 72, ry: 92, rgb: [58, 42, 34] },
  { x: 120, y: 128, rx: 58, ry: 76, rgb: [222, 178, 152] },
  { x: 97, y: 101, rx: 15, ry: 4, rgb: [70, 48, 40] },
  { x: 143, y: 101, rx: 15, ry: 4, rgb: [70, 48, 40] },
  { x: 97, y: 114, rx: 11, ry: 6, rgb: [240, 238, 236] },
  { x: 143, y: 114, rx: 11, ry: 6, rgb: [240, 238, 236] },
  { x: 97, y: 114, rx: 5, ry: 6, rgb: [40, 30, 28] },
  { x: 143, y: 114, rx: 5, ry: 6, rgb: [40, 30, 28] },
  { x: 120, y: 140, rx: 9, ry: 15, rgb: [206, 158, 132] },
  { x: 120, y: 152, rx: 12, ry: 4, rgb: [176, 122, 104] },
  { x: 120, y: 174, rx: 22, ry: 7, rgb: [170, 72, 76] },
];

/** A PNG of the drawing (RGB, 8 bits; W3C PNG specification, sections 5 and 11). */
export function drawing(): Buffer {
  // Each row begins with its filter type, 0 for none.
  const stride = 1 + 3 * width;
  const rows = Buffer.alloc(stride * height, 96);
  for (let y = 0; y < height; y++) {
    rows[y * stride] = 0;
    for (let x = 0; x < width; x++) {
      const top = ellipses.findLast((e) => ((x - e.x) / e.rx) ** 2 + ((y - e.y) / e.ry) ** 2 <= 1);
      if (top) rows.set(top.rgb, y * stride + 1 + 3 * x);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bits a sample
  header[9] = 2; // truecolour
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(4 + typed.length + 4);
  framed.writeUInt32BE(data.length, 0);
  typed.copy(framed, 4);
  framed.writeUInt32BE(crc32(typed), 4 + typed.length);
  return framed;
}
