// The files of docs/ that are made from the program's tables.
import { readFileSync } from 'node:fs';
import { apiReference, clientTypes } from './api-docs.mjs';

/**
 * Text by path. `document` is the OpenAPI document, `page` the docs page; `settings` and `metrics` are tables in Markdown,
 * `picture` is an SVG, and `commandLine` a whole page.
 */
export async function generatedDocs({ document, page, settings, metrics, picture, commandLine }) {
  const { api, errors } = apiReference(document, page);
  return {
    'docs/openapi.json': `${JSON.stringify(document, null, 2)}\n`,
    'docs/api.md': api,
    'docs/errors.md': errors,
    'docs/clients/client-types.d.ts': await clientTypes(document),
    'docs/configuration.md': filled('docs/configuration.md', { settings }),
    'docs/monitoring.md': filled('docs/monitoring.md', { metrics }),
    'docs/scores/percent.svg': picture,
    'docs/command-line.md': commandLine,
  };
}

/**
 * The text of a page with its tables, each by name between `<!-- NAME -->` and `<!-- end of NAME -->`. Throws an Error when
 * the page has no such place.
 */
export function filled(path, tables) {
  let text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  for (const [name, table] of Object.entries(tables)) {
    const place = new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=<!-- end of ${name} -->)`, 's');
    if (!place.test(text)) throw new Error(`${path} has no place for ${name}`);
    text = text.replace(place, () => `\n${table}\n\n`);
  }
  return text;
}
