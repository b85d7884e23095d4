import { byId } from './dom.js';

/** Lets the buttons with data-copies copy the text of the element that they name. */
export function copyButtons() {
  for (const button of document.querySelectorAll('button[data-copies]')) {
    if (!(button instanceof HTMLButtonElement)) continue;
    const label = button.textContent ?? '';
    const source = byId(button.dataset.copies ?? '');
    // Browsers give the clipboard to secure origins only.
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
      button.textContent = label;
    });
  }
}
