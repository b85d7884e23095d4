import type { Settings } from './types.ts';

/** Finds and creates elements. No text on this page is parsed as HTML. */

/** Throws an Error if the element is missing or of another kind. */
export function find<T extends Element>(parent: ParentNode, selector: string, kind: new () => T): T {
  const found = parent.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`The page has no ${kind.name} ${selector}`);
  return found;
}

export const byId = (id: string): HTMLElement => find(document, `#${id}`, HTMLElement);

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/**
 * Sets custom properties for the style sheet. The Content-Security-Policy forbids style attributes in HTML, but
 * allows this.
 */
export function place(target: HTMLElement, values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) target.style.setProperty(`--${name}`, String(value));
}

/** Shows text, or hides its element if `text` is undefined. */
export function setText(target: HTMLElement, text: string | undefined): void {
  target.textContent = text ?? '';
  target.hidden = text === undefined;
}

/** The error of a control: a line of text, and a highlight of its section. */
export class Fault {
  readonly #section: HTMLElement;
  readonly #control: HTMLElement;
  readonly #line: HTMLElement;

  constructor(section: HTMLElement, control: HTMLElement, line: HTMLElement) {
    this.#section = section;
    this.#control = control;
    this.#line = line;
  }

  /** If `words` is undefined, only highlights the section, because the page shows the text in another place. */
  show(words?: string): void {
    setText(this.#line, words);
    this.#mark(true);
  }

  clear(): void {
    setText(this.#line, undefined);
    this.#mark(false);
  }

  get shown(): boolean {
    return this.#section.classList.contains('faulty');
  }

  focus(): void {
    this.#control.focus();
  }

  #mark(faulty: boolean): void {
    this.#section.classList.toggle('faulty', faulty);
    this.#control.ariaInvalid = String(faulty);
  }
}

const pageFiles = new WeakSet<File>();

/**
 * Marks a photo that is not on the user's disk, such as a sample or a camera photo. The page offers it for download.
 */
export function notOnDisk(file: File): File {
  pageFiles.add(file);
  return file;
}

export const isOnDisk = (file: File): boolean => !pageFiles.has(file);

export function makeCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copies]')) makeCopyButton(button);
}

/** Makes the button copy the text of the element with the id in data-copies. */
function makeCopyButton(button: HTMLButtonElement): void {
  const source = byId(button.dataset.copies!);
  // Browsers allow the clipboard only on secure origins.
  button.hidden = navigator.clipboard === undefined;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? '');
      button.textContent = 'Copied';
    } catch {
      getSelection()?.selectAllChildren(source);
      button.textContent = 'Selected';
    }
  });
  button.addEventListener('blur', () => {
    button.textContent = 'Copy';
  });
}

const written: Settings = JSON.parse(byId('settings').textContent ?? '');
const own = written.paths.demo ?? '';
/** Path prefix under which a proxy serves this page. */
const prefix = location.pathname.endsWith(own) ? location.pathname.slice(0, -own.length) : '';

/** Data that the server wrote into the page: enabled endpoints, fields, limits. Paths include the prefix of a proxy. */
export const settings: Settings = {
  ...written,
  paths: Object.fromEntries(Object.entries(written.paths).map(([id, path]) => [id, prefix + path])),
};
