import { fitted, notPhoto, previewImage, smallerNote } from './copies.ts';
import { byId, element, find } from './dom.ts';
import { bytesText } from './words.ts';

/** A list of photos, each with a preview and a button that removes it. */
export class PhotoList {
  readonly input: HTMLInputElement;
  readonly #list: HTMLElement;
  readonly #max: number;
  readonly #removal: (at: number) => string;
  readonly #onChange: () => void;
  readonly #onFault: (text: string) => void;
  readonly rows: { file: File; name: string; image: HTMLImageElement; words: HTMLElement }[] = [];
  /** Resolves when the files are ready to be sent. */
  ready: Promise<unknown> = Promise.resolve();

  /**
   * @param removal returns the label of the button that removes a photo
   * @param onChange called when the list changes
   * @param onFault called with the error for a file that is not a photo
   */
  constructor(
    list: string,
    input: string,
    max: number,
    removal: (at: number) => string,
    onChange: () => void,
    onFault: (text: string) => void,
  ) {
    this.#list = byId(list);
    this.input = find(document, `#${input}`, HTMLInputElement);
    this.#max = max;
    this.#removal = removal;
    this.#onChange = onChange;
    this.#onFault = onFault;
    this.input.addEventListener('change', () => {
      this.add([...(this.input.files ?? [])]);
      // With the same value, choosing a removed file again would fire no event.
      this.input.value = '';
    });
  }

  get files(): readonly File[] {
    return this.rows.map(({ file }) => file);
  }

  /** Adds files up to the maximum. */
  add(files: readonly File[]): void {
    for (const file of files.slice(0, this.#max - this.rows.length)) {
      const title = `${file.name}, ${bytesText(file.size)}`;
      const words = element('span', { title }, file.name);
      const row = { file, name: file.name, image: previewImage(file), words };
      this.rows.push(row);
      const fit = Promise.all([fitted(file), notPhoto(file)]).then(([small, fault]) => {
        if (fault !== undefined && this.rows.includes(row)) {
          this.remove(this.rows.indexOf(row));
          this.#onChange();
          this.#onFault(fault);
        }
        if (fault !== undefined || small === file) return;
        row.file = small;
        row.name = file.name + smallerNote();
        words.textContent = row.name;
        words.title = `${row.name}, ${bytesText(small.size)}`;
      });
      this.ready = Promise.all([this.ready, fit]);
    }
    this.#onChange();
  }

  /** Removes a photo and returns it. */
  remove(at: number): File | undefined {
    const [removed] = this.rows.splice(at, 1);
    if (removed) URL.revokeObjectURL(removed.image.src);
    return removed?.file;
  }

  /** `open`: whether the list is shown. */
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
    this.input.closest('label')!.hidden = !open || items.length >= this.#max;
  }
}
