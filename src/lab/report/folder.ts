import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageFormat, ImageReport } from '../../engine/addon.ts';
import { drawFaces } from '../drawing.ts';
import type { Evaluation, PeopleEvaluation } from '../evaluate.ts';
import { openable } from '../file-names.ts';
import { type Results, resultsJson } from '../results.ts';
import { generator, reportPage } from './page.ts';
import { type Gallery, imagesShown } from './pairs.ts';

const extensions: Readonly<Record<ImageFormat, string>> = { jpeg: 'jpg', png: 'png', webp: 'webp' };
/** Names of copies are made from their content, because an image's own name may be anything. */
const copyName = /^[0-9a-f]{16}\.(?:jpg|png|svg|webp)$/;

/** A folder with index.html, figures.json and pictures/, which can be moved as a whole. */
export class ReportFolder {
  readonly page: string;
  readonly #folder: string;
  readonly #images: string;
  /** Names of the copies that this report shows. */
  readonly #shown = new Set<string>();

  /** Makes the folder. Throws an Error with a message for people when that fails or the folder holds other files. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#images = join(folder, 'pictures');
    this.page = join(folder, 'index.html');
    try {
      mkdirSync(folder, { recursive: true });
    } catch (error) {
      throw new Error(`The folder ${folder} cannot be made (${(error as NodeJS.ErrnoException).code})`);
    }
    const isReport = existsSync(this.page) && readFileSync(this.page, 'utf8').includes(generator);
    if (readdirSync(folder).length > 0 && !isReport) {
      throw new Error(`${folder} holds files that are not a report: choose an empty or new folder`);
    }
  }

  write(results: Results, date: Date): void {
    mkdirSync(this.#images, { recursive: true });
    const galleries = [...results.evaluations, ...results.people].map((one) => this.#gallery(one));
    writeFileSync(this.page, reportPage(results, galleries, date));
    writeFileSync(join(this.#folder, 'figures.json'), `${resultsJson(results)}\n`);
    // Removes copies of an earlier report that this one does not show: they are photos of people.
    for (const name of readdirSync(this.#images)) {
      if (copyName.test(name) && !this.#shown.has(name)) rmSync(join(this.#images, name));
    }
  }

  /** Copies the images of a set that the page shows. */
  #gallery(evaluation: Evaluation | PeopleEvaluation): Gallery {
    const { set, figures, images } = evaluation;
    return new Map(
      imagesShown(figures).map((name) => {
        const { image, faces, chosen } = images.get(name)!;
        // Images that are shown could be read.
        const link = `pictures/${this.#copy(join(set.folder, name), image!)}`;
        return [name, { image: image!, faces, chosen, link }];
      }),
    );
  }

  /** Copies an image. Returns the name of the copy, a hash of its content. */
  #copy(file: string, image: Omit<ImageReport, 'faces'>): string {
    const { bytes, extension } = displayable(readFileSync(openable(file)), image);
    const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.${extension}`;
    if (!this.#shown.has(name)) writeFileSync(join(this.#images, name), bytes);
    this.#shown.add(name);
    return name;
  }
}

/** Not every browser applies the EXIF orientation of PNG and WebP: such an image is copied into an SVG that turns it upright. */
function displayable(bytes: Uint8Array, image: Omit<ImageReport, 'faces'>) {
  const { format, orientation } = image;
  if (format === 'jpeg' || orientation === 1) return { bytes, extension: extensions[format] };
  return { bytes: drawFaces(bytes, { ...image, faces: [] }), extension: 'svg' };
}
