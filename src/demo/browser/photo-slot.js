import { byId, find, tell } from './dom.js';
import { previewOf } from './preview.js';
import { bytesText } from './words.js';

/** One of the two photos: the file as it was given, its preview, and what is said about it. */
export class PhotoSlot extends EventTarget {
  /** @type {File | undefined} */
  file;
  #url = '';

  /**
   * Adds itself to the page. Tells by an event `change` that the photo is another or gone, by `camera` that one is to be
   * taken.
   * @param {1 | 2} number
   */
  constructor(number) {
    super();
    this.number = number;
    this.name = /** @type {const} */ (`image${number}`);
    const copy = document.importNode(find(document, '#slot-template', HTMLTemplateElement).content, true);
    this.section = find(copy, 'section', HTMLElement);
    this.input = find(copy, '.tools input', HTMLInputElement);
    this.camera = find(copy, '.camera', HTMLButtonElement);
    this.capture = find(copy, '.capture', HTMLInputElement);
    this.image = find(copy, 'img', HTMLImageElement);
    /** As large as the preview, so that faces are placed on it by shares of its sides. */
    this.stage = find(copy, '.stage', HTMLElement);
    this.faces = find(copy, '.faces', HTMLElement);
    this.caption = find(copy, '.caption', HTMLElement);
    this.fault = find(copy, '.fault', HTMLElement);
    this.remove = find(copy, '.remove', HTMLButtonElement);
    this.#name();
    this.#listen();
    byId('photos').append(copy);
    void this.show(undefined);
  }

  /**
   * Takes a photo, or none. Its preview may come later or not at all: the page sends what it cannot show.
   * @param {File | undefined} file
   */
  async show(file) {
    this.file = file;
    this.remove.hidden = file === undefined;
    this.section.classList.toggle('filled', file !== undefined);
    this.stage.hidden = true;
    this.mark(undefined);
    tell(find(this.section, '.unseen', HTMLElement), undefined);
    this.caption.textContent = this.label;
    URL.revokeObjectURL(this.#url);
    this.dispatchEvent(new Event('change'));
    if (file === undefined) return;
    const preview = await previewOf(file);
    if (this.file !== file) return;
    this.#url = URL.createObjectURL(preview);
    this.image.src = this.#url;
  }

  /** Name and size. */
  get label() {
    return this.file === undefined ? '' : `${this.file.name}, ${bytesText(this.file.size)}`;
  }

  /**
   * Says what is wrong with this photo, or that nothing is.
   * @param {string | undefined} fault
   */
  mark(fault) {
    tell(this.fault, fault);
    this.section.classList.toggle('faulty', fault !== undefined);
    this.input.ariaInvalid = String(fault !== undefined);
  }

  /** Names that tell the two slots apart where only one control is read out. */
  #name() {
    const photo = `photo ${this.number}`;
    this.section.ariaLabel = `Photo ${this.number}`;
    find(this.section, 'h2', HTMLElement).textContent = `Photo ${this.number}`;
    this.input.name = this.name;
    this.input.id = this.name;
    find(this.section, '.empty', HTMLLabelElement).htmlFor = this.name;
    this.input.ariaLabel = `Choose ${photo}`;
    this.fault.id = `${this.name}-fault`;
    this.input.setAttribute('aria-describedby', this.fault.id);
    this.camera.ariaLabel = `Camera for ${photo}`;
    this.remove.ariaLabel = `Remove ${photo}`;
    this.image.alt = `Photo ${this.number}`;
  }

  #listen() {
    for (const input of [this.input, this.capture]) {
      input.addEventListener('change', () => {
        const [file] = input.files ?? [];
        // Cancelling the dialog empties the input in some browsers; the photo stays.
        if (file !== undefined) void this.show(file);
        // The same file may be chosen again after it was removed.
        input.value = '';
      });
    }
    this.camera.addEventListener('click', () => this.dispatchEvent(new Event('camera')));
    this.remove.addEventListener('click', () => {
      void this.show(undefined);
      this.input.focus();
    });
    this.image.addEventListener('load', () => {
      this.stage.hidden = false;
      this.dispatchEvent(new Event('preview'));
    });
    this.image.addEventListener('error', () => {
      tell(
        find(this.section, '.unseen', HTMLElement),
        'This browser cannot show the file. It is sent as it is.',
      );
    });
  }
}
