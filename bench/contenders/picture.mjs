// Input for nets that take whole pictures, as a careful user of sharp would prepare it.
import sharp from 'sharp';

// One thread for each worker: libvips must not start its own.
sharp.concurrency(1);
sharp.cache(false);

const side = 640;

/** RGB of the upright picture, at most 640 pixels a side: { data, width, height }. */
export async function readPicture(bytes) {
  const { data, info } = await sharp(bytes)
    .rotate()
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data: new Uint8Array(data), width: info.width, height: info.height };
}
