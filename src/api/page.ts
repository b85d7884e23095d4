import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errorTable } from '../errors.ts';
import { projectPath } from '../paths.ts';
import type { OpenApiDocument } from './document.ts';
import { Html, html } from './html.ts';
import { type Endpoint, endpointsOf, errorAnchor, headerAnchor, operationView } from './operation-view.ts';
import { errorCodes, extrasOf, problemName } from './problems.ts';
import { inline, prose } from './prose.ts';
import { schemaAnchor, schemaView } from './schema-view.ts';

/** The document as one page of HTML: no script, nothing loaded from elsewhere. */

export interface Page {
  html: string;
  /** The Content-Security-Policy that lets the page have its own style and nothing else (CSP level 3). */
  policy: string;
}

export function docsPage(document: OpenApiDocument): Page {
  const style = readFileSync(projectPath('src/api/page.css'), 'utf8');
  const hash = createHash('sha256').update(style).digest('base64');
  return {
    html: layout(document, style).text,
    policy: `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

function layout(document: OpenApiDocument, style: string): Html {
  const { title, summary, version, description } = document.info;
  const endpoints = endpointsOf(document);
  const source = endpoints.find(({ operation }) => operation.operationId === 'openapi')?.path;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title} ${version}</title>
<link rel="icon" href="data:,">
${source && html`<link rel="service-desc" type="application/json" href="${source}">`}
<style>${new Html(style)}</style>
<nav aria-label="Contents">${contents(endpoints)}</nav>
<main>
<header>
<h1>${title} <small>API ${version}</small></h1>
<p class="lead">${summary}</p>
${source && html`<p>For programs: <a href="${source}">OpenAPI document</a></p>`}
</header>
<section id="introduction">${prose(description)}</section>
${endpoints.map((endpoint) => operationView(endpoint, document))}
<section id="errors"><h2>Errors</h2>
<p>${inline(common)}</p>
${errorCodes.map((code) => errorView(code, document))}</section>
<section id="schemas"><h2>Schemas</h2>${schemasView(document)}</section>
<section id="headers"><h2>Headers of answers</h2><dl>${headersView(document)}</dl></section>
</main>
</html>
`;
}

function contents(endpoints: readonly Endpoint[]): Html {
  const links = [
    ['introduction', 'Introduction'],
    ...endpoints.map(({ operation }) => [operation.operationId, operation.summary]),
    ['errors', 'Errors'],
    ['schemas', 'Schemas'],
    ['headers', 'Headers'],
  ];
  return html`<ul>${links.map(([anchor, name]) => html`<li><a href="#${anchor}">${name}</a></li>`)}</ul>`;
}

function errorView(code: (typeof errorCodes)[number], { components }: OpenApiDocument): Html {
  const { properties = {} } = components.schemas[problemName(code)]!;
  const extras = extrasOf(code);
  const own = {
    properties: Object.fromEntries(extras.map((name) => [name, properties[name]!])),
    required: extras,
  };
  const { summary, value } = components.examples[code]!;
  return html`<article id="${errorAnchor(code)}">
<h3>${errorTable[code].status} <code>${code}</code></h3>
<p>${summary}. ${errorTable[code].detail}</p>
${extras.length > 0 ? schemaView(own) : undefined}
<details><summary>An answer</summary><pre>${JSON.stringify(value, null, 2)}</pre></details>
</article>
`;
}

const common =
  'Each has `type`, `title`, `status`, `detail`, `code` and `request_id`. What else one has stands with it.';

/** The problems' own schemas stand among the errors. */
function schemasView({ components }: OpenApiDocument): Html[] {
  const problems = new Set(errorCodes.map(problemName));
  return Object.entries(components.schemas)
    .filter(([name]) => !problems.has(name))
    .map(
      ([name, schema]) => html`<article id="${schemaAnchor(name)}"><h3>${name}</h3>
<p>${inline(schema.description ?? '')}</p>${schemaView(schema)}</article>
`,
    );
}

function headersView({ components }: OpenApiDocument): Html[] {
  return Object.entries(components.headers).map(
    ([name, { description }]) => html`<dt id="${headerAnchor(name)}"><code>${name}</code></dt>
<dd>${inline(description)}</dd>
`,
  );
}
