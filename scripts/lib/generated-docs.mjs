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
    'docs/configuration.md': filled('docs/configuration.md', 'settings', settings),
    'docs/monitoring.md': filled('docs/monitoring.md', 'metrics', metrics),
    'docs/scores/percent.svg': picture,
    'docs/command-line.md': commandLine,
  };
}

/** A page with a table between `<!-- NAME -->` and `<!-- end of NAME -->`. Throws an Error when the page has no such place. */
function filled(path, name, table) {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const place = new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=<!-- end of ${name} -->)`, 's');
  if (!place.test(text)) throw new Error(`${path} has no place for ${name}`);
  return text.replace(place, () => `\n${table}\n\n`);
}
