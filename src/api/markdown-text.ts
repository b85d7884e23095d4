/** Small pieces of Markdown. */

const generated = '<!-- Made by scripts/generate-docs.mjs; change the table in the source instead. -->';

/** A page that is made as a whole. */
export function page(title: string, ...blocks: string[]): string {
  return `${[title, generated, ...blocks].join('\n\n')}\n`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export function codes(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ');
}

export function block(language: 'json' | 'sh', text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/**
 * A page written by hand with one made part, between `<!-- NAME -->` and `<!-- end of NAME -->`. Throws an Error when the
 * page has no place for it.
 */
export function filled(text: string, name: string, content: string): string {
  const place = new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=<!-- end of ${name} -->)`, 's');
  if (!place.test(text)) throw new Error(`There is no place for ${name}`);
  return text.replace(place, () => `\n${content}\n\n`);
}

const lineWidth = 110;

/** JSON in few lines: what fits into one stands in one. */
export function compactJson(value: unknown, indent = ''): string {
  const whole = JSON.stringify(value, null, 1)
    .replaceAll(/\n */g, ' ')
    .replaceAll(/\[ | \]/g, (edge) => edge.trim());
  if (typeof value !== 'object' || value === null || indent.length + whole.length <= lineWidth) return whole;
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${inner}${isList ? '' : `${JSON.stringify(name)}: `}${compactJson(member, inner)}`,
  );
  return [isList ? '[' : '{', members.join(',\n'), `${indent}${isList ? ']' : '}'}`].join('\n');
}
