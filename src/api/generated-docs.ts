import { readConfig } from '../config.ts';
import { routes } from '../http/routes.ts';
import { clientTypes } from './client-types.ts';
import { openApiDocument } from './document.ts';
import { configurationMarkdown, errorsMarkdown } from './markdown.ts';

/** The files of docs/ that are made from tables, by path, as scripts/generate-docs.mjs writes them. */
export function generatedDocs(): Record<string, string> {
  const defaults = readConfig({});
  return {
    'docs/openapi.json': `${JSON.stringify(openApiDocument(routes, defaults), null, 2)}\n`,
    'docs/clients/client-types.d.ts': clientTypes(),
    'docs/errors.md': errorsMarkdown(),
    'docs/configuration.md': configurationMarkdown(),
  };
}
