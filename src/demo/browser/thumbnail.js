import { element } from './dom.js';

/** How much of the picture around a face is shown with it, as a share of its box. */
const margin = 0.2;
/** Of the drawn picture; twice the size on the page, for sharp screens. */
const side_pixels = 128;

/**
 * A square cut out of a preview around a face, or nothing but the square where there is no preview.
 * @param {HTMLImageElement} image
 * @param {import('./types.ts').Picture} picture
 * @param {number} index
 */
export function thumbnail(image, { width, height, faces }, index) {
  const canvas = element('canvas', { width: side_pixels, height: side_pixels, className: 'thumbnail' });
  const box = faces[index]?.box;
  if (box === undefined || image.naturalWidth === 0) return canvas;
  const side = Math.max(box.width, box.height) * (1 + 2 * margin);
  const [left, top] = [box.x + box.width / 2 - side / 2, box.y + box.height / 2 - side / 2];
  // A preview may be smaller than the photo.
  const [across, down] = [image.naturalWidth / width, image.naturalHeight / height];
  const context = canvas.getContext('2d');
  context?.drawImage(
    image,
    left * across,
    top * down,
    side * across,
    side * down,
    0,
    0,
    side_pixels,
    side_pixels,
  );
  return canvas;
}
