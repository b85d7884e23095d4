// Decodes with sharp, and does everything else in plain JavaScript on typed arrays.
import sharp from 'sharp';
import { inverse } from '../lib/geometry.mjs';

// One thread per worker, so libvips must not start more.
sharp.concurrency(1);
sharp.cache(false);

const side = 640;

/** Decodes to upright RGB with sides of at most 640 pixels, as { data, width, height }. */
export async function readImage(bytes) {
  const { data, info } = await sharp(bytes)
    .rotate()
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data: new Uint8Array(data), width: info.width, height: info.height };
}

export { readImage as decode };

export function release() {}

/**
 * Fills planes of `width` × `height` with `write(planes, at, r, g, b)`. `back` maps their pixels to the image, which is
 * sampled bilinearly, with black outside.
 */
function warp({ data, width: columns, height: rows }, back, width, height, planes, write) {
  for (let row = 0, at = 0; row < height; row++) {
    let x = back.tx - back.b * row;
    let y = back.ty + back.a * row;
    for (let column = 0; column < width; column++, at++, x += back.a, y += back.b) {
      if (!(x > -1 && y > -1 && x < columns && y < rows)) {
        write(planes, at, 0, 0, 0);
        continue;
      }
      const left = x < 0 ? 0 : x | 0;
      const top = y < 0 ? 0 : y | 0;
      const fx = x < 0 ? 0 : x - left;
      const fy = y < 0 ? 0 : y - top;
      const i = (top * columns + left) * 3;
      const right = left + 1 < columns ? 3 : 0;
      const below = top + 1 < rows ? columns * 3 : 0;
      const w11 = fx * fy;
      const w10 = fx - w11;
      const w01 = fy - w11;
      const w00 = 1 - fx - w01;
      const [j, k, l] = [i + right, i + below, i + right + below];
      write(
        planes,
        at,
        w00 * data[i] + w10 * data[j] + w01 * data[k] + w11 * data[l],
        w00 * data[i + 1] + w10 * data[j + 1] + w01 * data[k + 1] + w11 * data[l + 1],
        w00 * data[i + 2] + w10 * data[j + 2] + w01 * data[k + 2] + w11 * data[l + 2],
      );
    }
  }
  return planes;
}

export function letterbox(image, width, height, { mean, scale: unit }) {
  const scale = Math.min(width / image.width, height / image.height);
  const plane = width * height;
  const write = (planes, at, r, g, b) => {
    planes[at] = (r - mean) * unit;
    planes[at + plane] = (g - mean) * unit;
    planes[at + 2 * plane] = (b - mean) * unit;
  };
  // Pixel coordinates are pixel centres, so scaling shifts them.
  const shift = 0.5 / scale - 0.5;
  const back = { a: 1 / scale, b: 0, tx: shift, ty: shift };
  return {
    planes: warp(image, back, width, height, new Float32Array(3 * plane), write),
    scales: [scale, scale],
  };
}

export function greyCrop(image, transform, size, { mean, scale }) {
  const write = (planes, at, r, g, b) => {
    planes[at] = (0.299 * r + 0.587 * g + 0.114 * b - mean) * scale;
  };
  return warp(image, inverse(transform), size, size, new Float32Array(size * size), write);
}

/** Returns planes in the order BGR, because the embeddings then separate people slightly better. */
export function colourCrop(image, transform, size, { mean, scale }) {
  const plane = size * size;
  const write = (planes, at, r, g, b) => {
    planes[at] = (b - mean) * scale;
    planes[at + plane] = (g - mean) * scale;
    planes[at + 2 * plane] = (r - mean) * scale;
  };
  return warp(image, inverse(transform), size, size, new Float32Array(3 * plane), write);
}
