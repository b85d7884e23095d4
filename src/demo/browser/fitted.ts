import { settings } from './dom.ts';
import { previewOf } from './preview.ts';
import { bytesText } from './words.ts';

/** Longest side of a photo that is made smaller here: faces keep more pixels than the nets see. */
const longestSide = 4096;
const quality = 0.92;

/** What the server takes of one photo. */
export function limitText(): string {
  const { max_image_bytes, max_pixels } = settings.limits;
  return `${bytesText(max_image_bytes)} and ${Math.round(max_pixels / 1e6)} megapixels`;
}

/** The file itself, or a smaller JPEG of a photo that is more than the server takes. One that this browser cannot draw is left. */
export async function fitted(file: File): Promise<File> {
  const { max_image_bytes, max_pixels } = settings.limits;
  try {
    if (file.size <= max_image_bytes && (await pixelsOf(file)) <= max_pixels) return file;
    const image = await createImageBitmap(await previewOf(file));
    let scale = Math.min(1, longestSide / Math.max(image.width, image.height));
    for (; ; scale *= 0.7) {
      const canvas = new OffscreenCanvas(Math.ceil(image.width * scale), Math.ceil(image.height * scale));
      canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
      const small = await canvas.convertToBlob({ type: 'image/jpeg', quality });
      if (small.size > max_image_bytes || canvas.width * canvas.height > max_pixels) continue;
      image.close();
      return new File([small], file.name, { type: small.type });
    }
  } catch {
    return file;
  }
}

async function pixelsOf(file: Blob): Promise<number> {
  const image = new Image();
  image.src = URL.createObjectURL(file);
  try {
    await image.decode();
    return image.naturalWidth * image.naturalHeight;
  } finally {
    URL.revokeObjectURL(image.src);
  }
}
