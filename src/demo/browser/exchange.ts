import { byId, element, tell } from './dom.ts';
import { programs } from './programs.ts';
import type { Plan } from './types.ts';
import type { Photos } from './words.ts';

/** The request as a program, to be copied, and the copying of it and of the answer. */

/** The request in the language that is chosen; the first one until another is. */
export function showPrograms(plan: Plan, photos: Photos): void {
  const write = (language: string) => programs[language]!(location.origin, plan, photos);
  const chosen = document.querySelector<HTMLInputElement>('[name="language"]:checked')?.value ?? 'curl';
  const radios = Object.keys(programs).map((value) => {
    const radio = element('input', { type: 'radio', name: 'language', value, checked: value === chosen });
    radio.addEventListener('change', () => tell(byId('program'), write(value)));
    return element('label', {}, radio, element('span', {}, value));
  });
  byId('languages').replaceChildren(...radios);
  tell(byId('program'), write(chosen));
}

export function makeCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copies]')) makeCopyButton(button);
}

/** Copies the text of the element that data-copies names. */
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
