import { byId, element, isOnDisk, setText } from './dom.ts';
import { programs } from './programs.ts';
import type { Plan } from './types.ts';
import type { Photos } from './words.ts';

/**
 * Shows the request as code in the selected language, with download links for photos that are not on the user's disk.
 */
export function showPrograms(plan: Plan, photos: Photos): void {
  const write = (language: string) => programs[language]!(location.origin, plan, photos);
  const chosen = document.querySelector<HTMLInputElement>('[name="language"]:checked')?.value ?? 'curl';
  const radios = Object.keys(programs).map((value) => {
    const radio = element('input', { type: 'radio', name: 'language', value, checked: value === chosen });
    radio.addEventListener('change', () => setText(byId('program'), write(value)));
    return element('label', {}, radio, element('span', {}, value));
  });
  byId('languages').replaceChildren(...radios);
  setText(byId('program'), write(chosen));
  showDownloads(photos);
}

function showDownloads(photos: Photos): void {
  const target = byId('downloads');
  for (const link of target.querySelectorAll('a')) URL.revokeObjectURL(link.href);
  const links = photos.flatMap(({ file }) => {
    if (file === undefined || isOnDisk(file)) return [];
    return [' ', element('a', { href: URL.createObjectURL(file), download: file.name }, file.name)];
  });
  target.hidden = links.length === 0;
  target.replaceChildren('Download the photos that this command reads:', ...links);
}
