import { type Html, html } from './html.ts';

/** The little of Markdown that our own descriptions use: headings, paragraphs, lists and `code`. */

export function prose(markdown: string): Html[] {
  return markdown.split(/\n{2,}/).map(block);
}

function block(text: string): Html {
  if (text.startsWith('## ')) return html`<h3>${inline(text.slice(3))}</h3>`;
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('- '));
  if (first === -1) return html`<p>${inline(text)}</p>`;
  const items = lines.slice(first).map((line) => html`<li>${inline(line.slice(2))}</li>`);
  const lead = first === 0 ? undefined : html`<p>${inline(lines.slice(0, first).join(' '))}</p>`;
  return html`${lead}<ul>${items}</ul>`;
}

export function inline(text: string): Html[] {
  // Between backticks, every other piece is code.
  return text.split('`').map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`));
}
