import { fitted, previewImage, smallerNote } from './copies.ts';
import { byId, element, find } from './dom.ts';
import { bytesText } from './words.ts';

/** Photos, each with a preview and a way to take it away. */
export class PhotoList {
  readonly input: HTMLInputElement;
  readonly #list: HTMLElement;
  readonly #most: number;
  readonly #removal: (at: number) => string;
  readonly #onChange: () => void;
  readonly rows: { file: File; name: string; image: HTMLImageElement; words: HTMLElement }[] = [];
  /** Resolves when the files are those that may be sent. */
  ready: Promise<unknown> = Promise.resolve();

  /** @param removal names the button of a photo that takes it away; @param onChange called when the list changes */
  constructor(
    list: string,
    input: string,
    most: number,
    removal: (at: number) => string,
    onChange: () => void,
  ) {
    this.#list = byId(list);
    this.input = find(document, `#${input}`, HTMLInputElement);
    this.#most = most;
    this.#removal = removal;
    this.#onChange = onChange;
    this.input.addEventListener('change', () => {
      this.add([...(this.input.files ?? [])]);
      // The same file may be chosen again after it was removed.
      this.input.value = '';
    });
  }

  get files(): readonly File[] {
    return this.rows.map(({ file }) => file);
  }

  /** Adds as many as fit. */
  add(files: readonly File[]): void {
    for (const file of files.slice(0, this.#most - this.rows.length)) {
      const title = `${file.name}, ${bytesText(file.size)}`;
      const words = element('span', { title }, file.name);
      const row = { file, name: file.name, image: previewImage(file), words };
      this.rows.push(row);
      const fit = fitted(file).then((small) => {
        if (small === file) return;
        row.file = small;
        row.name = file.name + smallerNote();
        words.textContent = row.name;
        words.title = `${row.name}, ${bytesText(small.size)}`;
      });
      this.ready = Promise.all([this.ready, fit]);
    }
    this.#onChange();
  }

  /** Takes one out, which is returned. */
  remove(at: number): File | undefined {
    const [removed] = this.rows.splice(at, 1);
    if (removed) URL.revokeObjectURL(removed.image.src);
    return removed?.file;
  }

  /** `open`: whether the list counts. */
  draw(open: boolean): void {
    const items = this.rows.map(({ image, words }, at) => {
      const button = element(
        'button',
        { type: 'button', className: 'plain', ariaLabel: this.#removal(at) },
        '✕',
      );
      button.addEventListener('click', () => {
        this.remove(at);
        this.#onChange();
        this.input.focus();
      });
      return element('li', {}, image, button, words);
    });
    this.#list.replaceChildren(...items);
    this.#list.hidden = !open || items.length === 0;
    this.input.closest('label')!.hidden = !open || items.length >= this.#most;
  }
}
