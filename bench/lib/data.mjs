// Paths of pictures and nets, and tables for pages.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../test/support/programs.mjs';

/** Files that the bench makes once and keeps. */
export const cache = join(root, '.cache/bench');

/** A folder of the developers' pictures, in `FACEMATCH_SHARED` or `../shared`; undefined where it does not exist. */
export function sharedData(name = '') {
  const folder = join(process.env.FACEMATCH_SHARED ?? join(root, '../shared'), 'data', name);
  return existsSync(folder) ? folder : undefined;
}

/** A Markdown table. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Puts each text between `<!-- name -->` and `<!-- end of name -->` of a page of docs/. */
export function writeBetween(page, texts) {
  const file = join(root, 'docs', page);
  let content = readFileSync(file, 'utf8');
  for (const [name, text] of Object.entries(texts)) {
    const between = new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=<!-- end of ${name} -->)`, 's');
    if (!between.test(content)) throw new Error(`docs/${page} has no place for ${name}`);
    content = content.replace(between, () => `\n${text}\n\n`);
  }
  writeFileSync(file, content);
}
