import { hasCamera, openCamera } from './camera.ts';
import { fitted, limitText, previewImage, previewOf } from './copies.ts';
import { byId, element, Fault, find, settings, tell } from './dom.ts';
import { MorePhotos } from './more-photos.ts';
import { bytesText, count } from './words.ts';

/** One of the two photos: the file, its preview, its caption and faults, and further photos of the same person. */
export class PhotoSlot {
  readonly number: 1 | 2;
  /** The form field. */
  readonly name: 'image1' | 'image2';
  file: File | undefined;
  readonly section: HTMLElement;
  readonly image: HTMLImageElement;
  readonly caption: HTMLElement;
  readonly fault: Fault;
  readonly more: MorePhotos;
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
    this.image = find(this.section, 'img', HTMLImageElement);
    this.image.alt = `Photo ${number}`;
    this.caption = find(this.section, '.caption', HTMLElement);
    this.#input = find(this.section, '.tools input', HTMLInputElement);
    this.#stage = find(this.section, '.stage', HTMLElement);
    this.#unseen = find(this.section, '.unseen', HTMLElement);
    this.#remove = find(this.section, '.remove', HTMLElement);
    this.#heading = find(this.section, 'h2', HTMLElement);
    this.fault = new Fault(this.section, this.#input, byId(`${this.name}-fault`));
    this.more = new MorePhotos(number, () => this.#changed());
    this.#listen();
  }

  /** Sets or removes the photo. The preview may come later or not at all: the page also sends files that it cannot show. */
  async show(file: File | undefined): Promise<void> {
    this.file = file;
    this.#chosen = file;
    this.#remove.hidden = file === undefined;
    this.section.classList.toggle('filled', file !== undefined);
    this.#stage.hidden = true;
    tell(this.#unseen, undefined);
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
    const file = await fitted(chosen);
    if (this.#chosen !== chosen || file === chosen) return;
    this.file = file;
    this.caption.textContent = this.label;
  }

  /** Resolves when the files are those that may be sent: photos above the server's limits are made smaller first. */
  get ready(): Promise<unknown> {
    return Promise.all([this.#ready, this.more.ready]);
  }

  /** The first photo, and where they count the further ones. */
  get files(): readonly File[] {
    if (this.file === undefined) return [];
    return this.#takesSeveral ? [this.file, ...this.more.files] : [this.file];
  }

  /** Whether further photos of the person count. */
  takeSeveral(does: boolean): void {
    this.#takesSeveral = does;
    this.#draw();
  }

  /** Name and size, and whether it is as it was chosen. */
  get label(): string {
    if (this.file === undefined) return '';
    const isSmaller = this.file !== this.#chosen;
    const note = isSmaller ? ` (made smaller here: the server takes up to ${limitText()})` : '';
    return `${this.file.name}, ${bytesText(this.file.size)}${note}`;
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
        // In some browsers, cancelling the dialog empties the input: keep the photo.
        if (file !== undefined) void this.show(file);
        // The same file may be chosen again after it was removed.
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
      tell(this.#unseen, 'This browser cannot show the file. It is sent as it is.');
    });
  }
}

/**
 * Handles photos that are dropped or pasted anywhere on the page. The first goes where it was dropped, or to the first empty
 * slot; a second one to the other slot. If `takes` returns true, it has handled them.
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

  // Pasted text has no files; it is for the key.
  addEventListener('paste', ({ clipboardData, target }) =>
    put([...(clipboardData?.files ?? [])], slotAt(target)),
  );
  // On the whole page, because a browser would otherwise leave it to show the file.
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
  ready: Promise<unknown> = Promise.resolve();
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
    this.#files.push(...files);
    this.#images.push(...files.map(previewImage));
    this.ready = Promise.all([this.ready, ...files.map((file) => this.#fit(file))]);
    this.#changed();
  }

  async #fit(chosen: File): Promise<void> {
    const file = await fitted(chosen);
    if (file === chosen) return;
    this.#files = this.#files.map((one) => (one === chosen ? file : one));
    this.#draw();
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
