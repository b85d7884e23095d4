import { count } from '../../words/score.ts';
import { hasCamera, openCamera } from './camera.ts';
import { fitted, notPhoto, previewOf, smallerNote } from './copies.ts';
import { byId, Fault, find, setText, settings } from './dom.ts';
import { PhotoList } from './photo-list.ts';
import { agreementText, bytesText } from './words.ts';

/** One of the two photos, with preview, caption and error, and additional photos of the same person. */
export class PhotoSlot {
  readonly number: 1 | 2;
  /** Name of the form field. */
  readonly name: 'image1' | 'image2';
  file: File | undefined;
  readonly section: HTMLElement;
  readonly image: HTMLImageElement;
  readonly caption: HTMLElement;
  readonly fault: Fault;
  readonly more: PhotoList;
  readonly #input: HTMLInputElement;
  readonly #stage: HTMLElement;
  readonly #unseen: HTMLElement;
  readonly #remove: HTMLElement;
  readonly #onChange: () => void;
  #chosen: File | undefined;
  #ready: Promise<void> = Promise.resolve();
  readonly #heading: HTMLElement;
  #url = '';
  #takesSeveral = false;

  /** @param onChange called when the photo changes */
  constructor(number: 1 | 2, onChange: () => void) {
    this.number = number;
    this.name = `image${number}`;
    this.#onChange = onChange;
    this.section = byId(`slot${number}`);
    this.image = find(this.section, '.stage img', HTMLImageElement);
    this.image.alt = `Photo ${number}`;
    this.caption = find(this.section, '.caption', HTMLElement);
    this.#input = find(this.section, '.tools input', HTMLInputElement);
    this.#stage = find(this.section, '.stage', HTMLElement);
    this.#unseen = find(this.section, '.unseen', HTMLElement);
    this.#remove = find(this.section, '.remove', HTMLElement);
    this.#heading = find(this.section, 'h2', HTMLElement);
    this.fault = new Fault(this.section, this.#input, byId(`${this.name}-fault`));
    this.more = new PhotoList(
      `more${number}`,
      `add-more${number}`,
      settings.limits.photos - 1,
      (at) => `Remove photo ${at + 2} of person ${number}`,
      () => this.#changed(),
      (text) => this.fault.show(text),
    );
    this.#listen();
  }

  /** Shows a sample photo as a button in the empty slot. */
  offer(sample: File): void {
    const button = find(this.section, '.sample', HTMLButtonElement);
    find(button, 'img', HTMLImageElement).src = URL.createObjectURL(sample);
    button.addEventListener('click', () => void this.show(sample));
    button.hidden = false;
  }

  /**
   * Sets or removes the photo. The preview may come later or not at all: the page also sends photos that it
   * cannot show.
   */
  async show(file: File | undefined): Promise<void> {
    this.file = file;
    this.#chosen = file;
    this.#remove.hidden = file === undefined;
    this.section.classList.toggle('filled', file !== undefined);
    this.#stage.hidden = true;
    setText(this.#unseen, undefined);
    this.caption.textContent = this.label;
    URL.revokeObjectURL(this.#url);
    this.#changed();
    if (file === undefined) return;
    this.#ready = this.#fit(file);
    const preview = await previewOf(file);
    if (this.#chosen !== file) return;
    this.#url = URL.createObjectURL(preview);
    this.image.src = this.#url;
  }

  async #fit(chosen: File): Promise<void> {
    const [file, fault] = await Promise.all([fitted(chosen), notPhoto(chosen)]);
    if (this.#chosen !== chosen) return;
    if (fault !== undefined) {
      void this.show(undefined);
      this.fault.show(fault);
    }
    if (fault !== undefined || file === chosen) return;
    this.file = file;
    this.caption.textContent = this.label;
  }

  /** Resolves when the files are ready to be sent. Photos that exceed the server's limits are scaled down first. */
  get ready(): Promise<unknown> {
    return Promise.all([this.#ready, this.more.ready]);
  }

  /** The first photo, followed by the additional photos if several are accepted. */
  get files(): readonly File[] {
    if (this.file === undefined) return [];
    return this.#takesSeveral ? [this.file, ...this.more.files] : [this.file];
  }

  /** Sets whether several photos of the person are accepted. */
  takeSeveral(does: boolean): void {
    this.#takesSeveral = does;
    this.#draw();
  }

  /** Name and size, with a note if the photo was scaled down. */
  get label(): string {
    if (this.file === undefined) return '';
    const note = this.file === this.#chosen ? '' : smallerNote();
    return `${this.file.name}, ${bytesText(this.file.size)}${note}`;
  }

  /** Shows the agreement of each photo with the others of the person; null or undefined if unknown. */
  showAgreements([first, ...others]: readonly (number | null | undefined)[]): void {
    showAgreement(byId(`agreement${this.number}`), first);
    for (const [at, { words, name }] of this.more.rows.entries()) showAgreement(words, others[at], name);
  }

  /** Highlights the photos to which the errors apply. */
  showFaults(errors: readonly { index?: number; agreement_percent?: number }[]): void {
    const percents: (number | undefined)[] = [];
    for (const { index = 0, agreement_percent } of errors) percents[index] = agreement_percent;
    this.showAgreements(percents);
    for (const { index = 0 } of errors) this.more.rows[index - 1]?.words.classList.add('odd');
  }

  #changed(): void {
    this.fault.clear();
    this.#draw();
    this.#onChange();
  }

  #draw(): void {
    const name = `${this.files.length > 1 ? 'Person' : 'Photo'} ${this.number}`;
    this.#heading.textContent = name;
    this.section.ariaLabel = name;
    this.more.draw(this.#takesSeveral && this.file !== undefined);
  }

  #listen(): void {
    const capture = find(this.section, '.capture', HTMLInputElement);
    for (const input of [this.#input, capture]) {
      input.addEventListener('change', () => {
        const [file] = input.files ?? [];
        // In some browsers, cancelling the dialog empties the input. The page keeps the photo.
        if (file !== undefined) void this.show(file);
        // With the same value, choosing a removed file again would fire no event.
        input.value = '';
      });
    }
    find(this.section, '.camera', HTMLElement).addEventListener('click', () => {
      if (hasCamera()) void openCamera(`Photo ${this.number}`, (photo) => this.show(photo));
      else capture.click();
    });
    this.#remove.addEventListener('click', () => {
      void this.show(this.more.remove(0));
      this.#input.focus();
    });
    this.image.addEventListener('load', () => {
      this.#stage.hidden = false;
    });
    this.image.addEventListener('error', () => {
      setText(this.#unseen, 'This browser cannot show the photo. It is sent unchanged.');
    });
  }
}

function showAgreement(target: HTMLElement, percent: number | null | undefined, otherwise?: string): void {
  const agreement = percent === null || percent === undefined ? undefined : agreementText(percent);
  setText(target, agreement?.text ?? otherwise);
  target.classList.toggle('odd', agreement?.isOdd ?? false);
}

/**
 * Shows photos that are dropped or pasted anywhere on the page: the first in the slot on which it was dropped, else
 * in the first empty slot, else in slot 1; a second photo in the other slot. If `takes` returns true, it has handled
 * the photos.
 */
export function takeDroppedAndPasted(
  slots: readonly PhotoSlot[],
  takes: (files: readonly File[], chosen: PhotoSlot | undefined) => boolean,
): void {
  const slotAt = (target: EventTarget | null) =>
    slots.find(({ section }) => target instanceof Node && section.contains(target));
  const highlight = (chosen: PhotoSlot | undefined) => {
    for (const slot of slots) slot.section.classList.toggle('aimed', slot === chosen);
  };
  const put = (files: readonly File[], chosen: PhotoSlot | undefined) => {
    if (takes(files, chosen)) return;
    const first = chosen ?? slots.find(({ file }) => file === undefined) ?? slots[0];
    const order = [first, ...slots.filter((slot) => slot !== first)];
    for (const [i, file] of files.entries()) void order[i]?.show(file);
  };

  // Pasted text, such as a key, has no files.
  addEventListener('paste', ({ clipboardData, target }) =>
    put([...(clipboardData?.files ?? [])], slotAt(target)),
  );
  // The whole page handles drops, because a browser would open a file that is dropped outside a slot.
  addEventListener('dragover', (event) => {
    event.preventDefault();
    highlight(slotAt(event.target));
  });
  addEventListener('dragleave', ({ relatedTarget }) => relatedTarget === null && highlight(undefined));
  addEventListener('drop', (event) => {
    event.preventDefault();
    highlight(undefined);
    put([...(event.dataTransfer?.files ?? [])], slotAt(event.target));
  });
}

/** The photos that the first photo is compared with. The server limits their number. */
export class Others {
  /** Name of the form field. */
  readonly name = 'image2';
  readonly section = byId('others');
  readonly list: PhotoList;
  readonly fault: Fault;

  /** @param onChange called when the list changes */
  constructor(onChange: () => void) {
    const removal = (at: number) => `Remove photo ${at + 1} to compare with`;
    this.list = new PhotoList(
      'others-list',
      'image2s',
      Number.POSITIVE_INFINITY,
      removal,
      () => {
        this.#draw();
        this.fault.clear();
        onChange();
      },
      (text) => this.fault.show(text),
    );
    this.fault = new Fault(this.section, this.list.input, byId('others-fault'));
    this.#draw();
  }

  get files(): readonly File[] {
    return this.list.files;
  }

  get ready(): Promise<unknown> {
    return this.list.ready;
  }

  #draw(): void {
    this.list.draw(true);
    const { length } = this.files;
    byId('others-caption').textContent =
      length === 0 ? `Up to ${settings.limits.targets} photos.` : count(length, 'photo');
  }
}
