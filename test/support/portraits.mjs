// Crops people from @vladmandic/face-api's sample photos, in the sizes and formats that clients send.
import { join } from 'node:path';
import sharp from 'sharp';
import { root } from './programs.mjs';

/**
 * Person, number of the photo, and centre and height of the face in pixels. Only `a` is in two photos.
 */
const faces = [
  ['a', 1, 1573, 327, 224],
  ['a', 3, 1190, 361, 310],
  ['b', 3, 693, 458, 277],
  ['c', 2, 1545, 275, 235],
  ['d', 4, 1078, 305, 249],
  ['e', 5, 1195, 318, 221],
  ['f', 6, 1590, 403, 301],
  ['g', 6, 364, 625, 278],
];

/** Side of the crop in heights of the face: enough for the head, with little of the neighbours. */
const margin = 2;

/** Returns a crop of each head as a sharp image, in the order of the table. */
export const cutOuts = () =>
  faces.map(([, photo, x, y, height]) => {
    const side = Math.round(height * margin);
    return sharp(join(root, `node_modules/@vladmandic/face-api/demo/sample${photo}.jpg`)).extract({
      left: Math.max(0, Math.round(x - side / 2)),
      top: Math.max(0, Math.round(y - side / 2)),
      width: side,
      height: side,
    });
  });

/**
 * Returns three people in each of `sizes` ({ width, height, format }) as { width, height, format, bytes }.
 */
export async function portraits(sizes) {
  const all = cutOuts();
  const made = [];
  for (const face of [all[0], all[2], all[3]]) {
    for (const { width, height, format } of sizes) {
      // `cover` would crop the face if the frame is wide.
      const image = face.clone().resize(width, height, { fit: 'contain', background: '#789' });
      const bytes = await image
        .toFormat(format, { quality: 85, ...(format === 'webp' && { effort: 1 }) })
        .toBuffer();
      made.push({ width, height, format, bytes });
    }
  }
  return made;
}
