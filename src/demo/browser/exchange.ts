import { byId, element, tell } from './dom.ts';
import { programs } from './programs.ts';
import type { Plan } from './types.ts';
import type { Photos } from './words.ts';

/** Shows the request in the language that is chosen; the first one until another is. */
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
