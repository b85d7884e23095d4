import { fitted, limitText, previewImage } from './copies.ts';
import { byId, element, find, settings, tell } from './dom.ts';
import { agreementWords, bytesText } from './words.ts';

/** Further photos of the person in a slot, each with a preview, what it agrees with the others, and a way to take it away. */
export class MorePhotos {
  readonly #person: number;
  readonly #list: HTMLElement;
  readonly #add: HTMLElement;
  readonly #input: HTMLInputElement;
  /** Says how well the first photo, which stands above, fits the others. */
  readonly #first: HTMLElement;
  readonly #onChange: () => void;
  #rows: { file: File; name: string; image: HTMLImageElement; words: HTMLElement }[] = [];
  /** Resolves when the files are those that may be sent. */
  ready: Promise<unknown> = Promise.resolve();

  /** @param onChange called when the list changes */
  constructor(person: number, onChange: () => void) {
    this.#person = person;
    this.#onChange = onChange;
    this.#list = byId(`more${person}`);
    this.#input = find(document, `#add-more${person}`, HTMLInputElement);
    this.#add = this.#input.closest('label')!;
    this.#first = byId(`agreement${person}`);
    this.#input.addEventListener('change', () => {
      this.add([...(this.#input.files ?? [])]);
      // The same file may be chosen again after it was removed.
      this.#input.value = '';
    });
  }

  get files(): readonly File[] {
    return this.#rows.map(({ file }) => file);
  }

  /** Adds as many as fit beside the first photo. */
  add(files: readonly File[]): void {
    for (const file of files.slice(0, settings.limits.photos - 1 - this.#rows.length)) {
      const title = `${file.name}, ${bytesText(file.size)}`;
      const image = previewImage(file);
      const row = { file, name: file.name, image, words: element('span', { title }, file.name) };
      this.#rows.push(row);
      const fit = fitted(file).then((small) => {
        if (small === file) return;
        row.file = small;
        row.name = `${file.name} (made smaller here: the server takes up to ${limitText()})`;
        row.words.textContent = row.name;
        row.words.title = `${row.name}, ${bytesText(small.size)}`;
      });
      this.ready = Promise.all([this.ready, fit]);
    }
    this.#onChange();
  }

  /** Takes one out, which may become the first. */
  remove(at: number): File | undefined {
    const [removed] = this.#rows.splice(at, 1);
    if (removed) URL.revokeObjectURL(removed.image.src);
    return removed?.file;
  }

  /** `open`: whether there is a first photo, and further ones count. */
  draw(open: boolean): void {
    const items = this.#rows.map(({ image, words }, at) => {
      const label = `Remove photo ${at + 2} of person ${this.#person}`;
      const button = element('button', { type: 'button', className: 'plain', ariaLabel: label }, '✕');
      button.addEventListener('click', () => {
        this.remove(at);
        this.#onChange();
        this.#input.focus();
      });
      return element('li', {}, image, button, words);
    });
    this.#list.replaceChildren(...items);
    this.#list.hidden = !open || items.length === 0;
    this.#add.hidden = !open || items.length >= settings.limits.photos - 1;
  }

  /** How well each photo fits the others, the first one's first; null and undefined where it is not known. */
  showAgreements(percents: readonly (number | null | undefined)[]): void {
    const show = (target: HTMLElement, percent: number | null | undefined, otherwise?: string) => {
      const words = percent === null || percent === undefined ? undefined : agreementWords(percent);
      tell(target, words?.text ?? otherwise);
      target.classList.toggle('odd', words?.isOdd ?? false);
    };
    const [first, ...others] = percents;
    show(this.#first, first);
    for (const [at, { words, name }] of this.#rows.entries()) show(words, others[at], name);
  }

  /** Marks what a problem is about. */
  showFaults(errors: readonly { index?: number; agreement_percent?: number }[]): void {
    const percents: (number | undefined)[] = [];
    for (const { index = 0, agreement_percent } of errors) percents[index] = agreement_percent;
    this.showAgreements(percents);
    for (const { index = 0 } of errors) this.#rows[index - 1]?.words.classList.add('odd');
  }
}
