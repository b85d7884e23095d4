import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectPath } from '../config/paths.ts';
import { type ErrorCode, errorCodes } from '../errors.ts';
import { hashOf, policyOf } from '../http/responses.ts';
import type { OpenApiDocument } from './document.ts';
import { type Html, html } from './html.ts';
import { problemName } from './schemas.ts';

/**
 * The documentation page. Scalar's API reference, which set-up copies into the built program, shows the OpenAPI
 * document. A list of operations is shown until the script has loaded. The parts of the script have the page's own
 * URL with a query; the form that sends requests is loaded when it is opened.
 */

interface Page {
  html: string;
  /**
   * The Content-Security-Policy (level 3). It allows the page's own scripts, inline styles, and requests to this
   * server.
   */
  policy: string;
}

/**
 * Turns off the code generation of zod, which Scalar contains. zod would test whether it may use `eval`, which the
 * policy forbids, and the browser would report an error.
 */
const withoutEval = 'globalThis.__zod_globalConfig = { jitless: true };';

/** Attributes that the script sets on Scalar's elements for screen readers and keyboard users, by selector. */
const attributes = {
  '.code-input-lite__editor': { 'aria-label': 'Name', 'aria-expanded': 'false' },
  'ul.endpoints': { tabindex: '0' },
  // The regions of all operations would have the same name.
  '.response-card[role="region"]': { role: 'group' },
  // Scalar's placeholder for a secret looks like a key.
  'input[placeholder^="QUxM"]': { placeholder: 'your API key' },
};

/**
 * Script that replaces the list of operations with the reference. It also redirects the fragment of a problem's
 * `type` to that of its schema, before Scalar reads the fragment and whenever it changes.
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
  // The buttons show the language of the sample on hover. A second, hidden label reserves the space.
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
  // These options remove links to the services of Scalar's publisher.
  telemetry: false,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  // Scalar's own code samples would send the names of files instead of the files. The document has samples.
  hiddenClients: true,
  authentication: { preferredSecurityScheme: 'api_key' },
};

/** Returns the list of operations, which is shown until the script has loaded. */
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

/** Returns the files of the script with their queries; none before `npm run setup`. */
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
<noscript>This page needs JavaScript. The OpenAPI document of this server has the same content.</noscript>
<div id="reference">${outline(document).text}</div>
<script type="application/json" id="settings">${settings}</script>
<script>${withoutEval}</script>
<script type="module">${start}</script>
</html>
`,
    // Scalar adds inline styles to the page.
    policy: policyOf(
      `script-src 'self' ${hashOf(withoutEval)} ${hashOf(start)}`,
      "style-src 'unsafe-inline'",
      'img-src blob: data:',
    ),
  };
}
