import { settings } from './dom.ts';
import { bytesText } from './words.ts';

/** Smaller copies of photos that are more than the server takes. */

/** Longest side of a photo that is made smaller here: faces keep more pixels than the nets see. */
const longestSide = 4096;
const quality = 0.92;

/** Stands behind the name of a photo that is not as it was chosen. */
export function smallerNote(): string {
  const { max_image_bytes, max_pixels } = settings.limits;
  const limits = `${bytesText(max_image_bytes)} and ${Math.round(max_pixels / 1e6)} megapixels`;
  return ` (made smaller here: the server takes up to ${limits})`;
}

/** The file itself, or a smaller JPEG of a photo that is more than the server takes. One that this browser cannot draw is left. */
export async function fitted(file: File): Promise<File> {
  const { max_image_bytes, max_pixels } = settings.limits;
  try {
    const image = await createImageBitmap(file);
    const fits = file.size <= max_image_bytes && image.width * image.height <= max_pixels;
    let scale = Math.min(1, longestSide / Math.max(image.width, image.height));
    for (; !fits; scale *= 0.7) {
      const canvas = new OffscreenCanvas(Math.ceil(image.width * scale), Math.ceil(image.height * scale));
      canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
      const small = await canvas.convertToBlob({ type: 'image/jpeg', quality });
      if (small.size > max_image_bytes || canvas.width * canvas.height > max_pixels) continue;
      image.close();
      return new File([small], file.name, { type: small.type });
    }
    image.close();
  } catch {
    // The server says what is wrong with it.
  }
  return file;
}
