/** Text that is HTML. html`…` escapes all other values. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = string | number | Html | undefined | readonly Content[];

/** Template tag, as in html`<p>${text}</p>`. Escapes values, joins lists and omits undefined. */
export function html(literals: TemplateStringsArray, ...contents: readonly Content[]): Html {
  let text = literals[0]!;
  for (const [i, content] of contents.entries()) text += render(content) + literals[i + 1]!;
  return new Html(text);
}

function render(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof Html) return content.text;
  if (Array.isArray(content)) return content.map(render).join('');
  return escaped(String(content));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a string for text and for quoted attributes. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);
