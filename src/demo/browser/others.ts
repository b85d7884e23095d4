import { byId, element, Fault, find, settings } from './dom.ts';
import { previewOf } from './preview.ts';
import { bytesText, count } from './words.ts';

/** The photos that the first one is compared with. */
export class Others {
  /** The form field that each of them is sent as. */
  readonly name = 'image2';
  readonly section = byId('others');
  readonly #list = byId('others-list');
  readonly #clear = byId('clear-others');
  readonly #input = find(document, '#image2s', HTMLInputElement);
  readonly #onChange: () => void;
  readonly fault = new Fault(this.section, this.#input, byId('others-fault'));
  #files: File[] = [];
  #images: HTMLImageElement[] = [];

  /** @param onChange called when the list changes */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#input.addEventListener('change', () => {
      this.add([...(this.#input.files ?? [])]);
      // The same file may be chosen again after it was removed.
      this.#input.value = '';
    });
    this.#clear.addEventListener('click', () => {
      for (const { src } of this.#images) URL.revokeObjectURL(src);
      this.#files = [];
      this.#images = [];
      this.#changed();
      this.#input.focus();
    });
    this.#draw();
  }

  get files(): readonly File[] {
    return this.#files;
  }

  /** Previews in the order of the files; one that cannot be shown is empty. */
  get images(): readonly HTMLImageElement[] {
    return this.#images;
  }

  /** Adds files, even beyond the limit: the server reports that. */
  add(files: readonly File[]): void {
    for (const file of files) {
      const image = element('img', { alt: '' });
      // Shows a grey box instead of the browser's icon for a broken image.
      image.addEventListener('error', () => image.removeAttribute('src'));
      this.#files.push(file);
      this.#images.push(image);
      void previewOf(file).then((preview) => {
        image.src = URL.createObjectURL(preview);
      });
    }
    this.#changed();
  }

  #changed(): void {
    this.#draw();
    this.fault.clear();
    this.#onChange();
  }

  #draw(): void {
    const rows = this.#files.map(({ name, size }, i) =>
      element('li', { title: `${name}, ${bytesText(size)}` }, this.#images[i]!, element('span', {}, name)),
    );
    this.#list.replaceChildren(...rows);
    this.#clear.hidden = rows.length === 0;
    byId('others-caption').textContent =
      rows.length === 0 ? `Up to ${settings.limits.targets} photos.` : count(rows.length, 'photo');
  }
}
