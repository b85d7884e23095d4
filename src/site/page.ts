import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectPath } from '../config/paths.ts';
import { type ErrorCode, errorCodes } from '../errors.ts';
import { hashOf, policyOf } from '../http/responses.ts';
import type { OpenApiDocument } from './document.ts';
import { type Html, html } from './html.ts';
import { problemName } from './schemas.ts';

/**
 * The API's page: the document, shown by Scalar's API reference, which set-up copies into the built program.
 * A list of operations comes first and is readable until the script loads and replaces it. The script comes
 * in parts from the page's own URL: the form that sends requests is loaded when it is opened.
 */

interface Page {
  html: string;
  /** The Content-Security-Policy (level 3): the page's own scripts, any style, and requests to this server alone. */
  policy: string;
}

/**
 * The script contains zod, which otherwise tests whether it may compile code from text. The policy forbids
 * that, and the browser would report it.
 */
const withoutEval = 'globalThis.__zod_globalConfig = { jitless: true };';

/** Attributes for screen readers and keyboards that the script omits, by selector. */
const attributes = {
  '.code-input-lite__editor': { 'aria-label': 'Name', 'aria-expanded': 'false' },
  'ul.endpoints': { tabindex: '0' },
  // Occurs for each operation under the same name.
  '.response-card[role="region"]': { role: 'group' },
  // Scalar's placeholder of a secret looks like a key.
  'input[placeholder^="QUxM"]': { placeholder: 'your API key' },
};

/**
 * Turns the URL of a problem's `type` into that of its schema, before the page reads it and whenever it
 * changes, and replaces the list of operations with the reference.
 */
const start = `
import { createApiReference } from './docs?part=/reference.js';
const { problems, ...configuration } = JSON.parse(document.getElementById('settings').textContent);
const follow = () => {
  const schema = problems[location.hash.replace('#error-', '')];
  if (schema !== undefined) location.replace('#models/' + schema);
};
follow();
addEventListener('hashchange', follow);
const place = document.getElementById('reference');
const attributes = Object.entries(${JSON.stringify(attributes)});
new MutationObserver(() => {
  for (const [selector, given] of attributes)
    for (const element of place.querySelectorAll(selector))
      for (const [name, value] of Object.entries(given))
        if (!element.hasAttribute(name) || name === 'role' || name === 'placeholder') element.setAttribute(name, value);
  // On hover the buttons show the language of the sample. A second, hidden label reserves the space.
  for (const button of place.querySelectorAll('.scalar-code-copy')) {
    const language = button.querySelector('span > span:first-child:not(:only-child)')?.textContent ?? '';
    button.setAttribute('aria-label', ('Copy ' + language).trim());
  }
}).observe(place, { childList: true, subtree: true, characterData: true });
place.replaceChildren();
createApiReference('#reference', { ...configuration, generateModelSlug: ({ name }) => name });
`;

const configuration = {
  theme: 'none',
  withDefaultFonts: false,
  // Removes links to the publisher's services.
  telemetry: false,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  // It would send files as their names; the document has its own samples.
  hiddenClients: true,
  authentication: { preferredSecurityScheme: 'api_key' },
};

/** Content that is shown before the script runs, and without it. */
function outline({ info, tags, paths }: OpenApiDocument): Html {
  const operations = Object.entries(paths).flatMap(([path, { get, post }]) =>
    [
      { method: 'GET', operation: get },
      { method: 'POST', operation: post },
    ].flatMap(({ method, operation }) => (operation === undefined ? [] : [{ path, method, ...operation }])),
  );
  const section = ({ name, description }: OpenApiDocument['tags'][number]) => {
    const items = operations
      .filter((operation) => operation.tags[0] === name)
      .map(
        ({ method, path, summary }) =>
          html`<li><a href="#tag/${name}/${method}${path}">${summary}</a>: <code>${method} ${path}</code></li>`,
      );
    return html`<h2>${description}</h2><ul>${items}</ul>`;
  };
  return html`<main class="outline"><h1>${info.title}</h1><p>${info.summary}</p>${tags.map(section)}</main>`;
}

/** Files of the script, by the queries that request them; none before `npm run setup`. */
export function scriptParts(): [query: string, file: string][] {
  const folder = projectPath('dist/src/site/reference');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.map((name) => [`part=/${name}`, join(folder, name)]);
}

export function docsPage(document: OpenApiDocument): Page {
  const style = readFileSync(projectPath('dist/src/site/page.css'), 'utf8');
  const schemas = errorCodes.map((code): [ErrorCode, string] => [code, problemName(code)]);
  const problems = Object.fromEntries(schemas.filter(([code]) => code in document.components.examples));
  const settings = JSON.stringify({ ...configuration, content: document, problems }).replaceAll(
    '<',
    '\\u003c',
  );
  const { title, version } = document.info;
  return {
    html: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title} ${version}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<noscript>This page needs JavaScript. The OpenAPI document of this server says the same.</noscript>
<div id="reference">${outline(document).text}</div>
<script type="application/json" id="settings">${settings}</script>
<script>${withoutEval}</script>
<script type="module">${start}</script>
</html>
`,
    // The script adds inline styles to the page.
    policy: policyOf(
      `script-src 'self' ${hashOf(withoutEval)} ${hashOf(start)}`,
      "style-src 'unsafe-inline'",
      'img-src blob: data:',
    ),
  };
}
