import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageFormat, type ImageReport, loadAddon } from '../../engine/addon.ts';

const extensions: Readonly<Record<ImageFormat, string>> = { jpeg: 'jpg', png: 'png', webp: 'webp' };
/** Of a copy: nothing of a picture's own name, which may be anything, becomes a name here. */
const ownName = /^[0-9a-f]{16}\.(?:jpg|png|webp)$/;

/** The copies of pictures in a report, each named by what is in it. */
export class PictureFolder {
  readonly #folder: string;
  readonly #names = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Copies a picture and gives the name of the copy. */
  add(file: string, image: Omit<ImageReport, 'faces'>): string {
    const { bytes, format } = displayable(readFileSync(file), image);
    const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.${extensions[format]}`;
    if (!this.#names.has(name)) writeFileSync(join(this.#folder, name), bytes);
    this.#names.add(name);
    return name;
  }

  /** Removes copies that an earlier report left and this one does not show: they are photos of people. */
  removeOthers(): void {
    for (const name of readdirSync(this.#folder)) {
      if (ownName.test(name) && !this.#names.has(name)) rmSync(join(this.#folder, name));
    }
  }
}

/** Of JPEG every browser heeds the EXIF orientation, of PNG and WebP not: such a picture is copied upright, as PNG. */
function displayable(bytes: Uint8Array, { format, orientation, width, height }: Omit<ImageReport, 'faces'>) {
  if (format === 'jpeg' || orientation === 1) return { bytes, format };
  const upright = loadAddon().draw(bytes, [], { max_pixels: width * height, min_side: 1 });
  return upright.ok ? { bytes: upright.png, format: 'png' as const } : { bytes, format };
}
