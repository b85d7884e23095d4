import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectPath } from '../config/paths.ts';
import { type ErrorCode, errorCodes, errorTable } from '../errors.ts';
import type { OpenApiDocument } from './document.ts';
import { type Content, Html, html } from './html.ts';
import type { Schema } from './json-schema.ts';
import type { Operation, Response } from './operations.ts';
import { extrasOf, problemName } from './problems.ts';
import { inline, listed, prose, schemaLink, schemaView } from './schema-view.ts';

/** The document as one page of HTML: no script, nothing loaded from elsewhere. */

export interface Page {
  html: string;
  /** The Content-Security-Policy of the page: it allows its own style and nothing else (CSP level 3). */
  policy: string;
}

export function docsPage(document: OpenApiDocument): Page {
  const style = readFileSync(projectPath('src/site/page.css'), 'utf8');
  const hash = createHash('sha256').update(style).digest('base64');
  return {
    html: layout(document, style).text,
    policy: `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

function layout(document: OpenApiDocument, style: string): Html {
  const { title, summary, version, description } = document.info;
  const endpoints: Endpoint[] = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const source = endpoints.find(({ operation }) => operation.operationId === 'openapi')?.path;
  const contents = [
    ['introduction', 'Introduction'],
    ...endpoints.map(({ operation }) => [operation.operationId, operation.summary]),
    ['errors', 'Errors'],
    ['schemas', 'Schemas'],
    ['headers', 'Headers'],
  ];
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title} ${version}</title>
<link rel="icon" href="data:,">
${source && html`<link rel="service-desc" type="application/json" href="${source}">`}
<style>${new Html(style)}</style>
<nav aria-label="Contents"><ul>${contents.map(([id, name]) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav>
<main>
<header>
<h1>${title} <small>API ${version}</small></h1>
<p class="lead">${summary}</p>
${source && html`<p>For programs: <a href="${source}">OpenAPI document</a></p>`}
</header>
<section id="introduction">${prose(description)}</section>
${endpoints.map((endpoint) => operationView(endpoint, document))}
<section id="errors"><h2>Errors</h2>
<p>${inline('Each has `type`, `title`, `status`, `detail`, `code` and `request_id`; further members are listed with it.')}</p>
${errorCodes.filter((code) => code in document.components.examples).map((code) => errorView(code, document))}</section>
<section id="schemas"><h2>Schemas</h2>${schemasView(document)}</section>
<section id="headers"><h2>Headers of answers</h2><dl>${Object.entries(document.components.headers).map(
    ([name, { description }]) => html`<dt id="header-${name.toLowerCase()}"><code>${name}</code></dt>
<dd>${inline(description)}</dd>
`,
  )}</dl></section>
</main>
</html>
`;
}

function operationView({ method, path, operation }: Endpoint, document: OpenApiDocument): Html {
  const { operationId, summary, description, security, requestBody, responses } = operation;
  const [body] = Object.values(requestBody?.content ?? {});
  const [media] = Object.values(responses['200']?.content ?? {});
  const [example] = Object.values(media?.examples ?? {});
  const answer = document.components.examples[example?.$ref.split('/').at(-1) ?? ''];
  return html`<section id="${operationId}">
<h2>${summary}</h2>
<p class="route"><b class="method">${method}</b> <code>${path}</code></p>
${prose(description)}
<p>${needs(security)}</p>
${operation['x-codeSamples'].map(({ source }) => html`<pre>${source}</pre>`)}
${requestBody && body && html`<h3>Fields</h3><p>${inline(requestBody.description)}</p>${schemaView(resolved(body.schema, document))}`}
<h3>Answers</h3>
${answersView(responses)}
${answer && exampleView(answer.value)}
</section>
`;
}

function resolved(schema: Schema, document: OpenApiDocument): Schema {
  return document.components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
}

function needs(security: Operation['security']): Content {
  if (security.length === 0) return 'Needs no key.';
  const scopes = security.flatMap(({ api_key = [] }) => api_key);
  if (scopes.length === 0) return 'Needs a key, of any scope.';
  return ['Needs a key with the scope ', scopes.map((scope) => html`<code>${scope}</code>`), '.'];
}

/** Headers that all answers have are named once, above the list. */
function answersView(responses: Operation['responses']): Html {
  const [first = [], ...rest] = Object.values(responses).map(({ headers }) => Object.keys(headers));
  const everywhere = first.filter((name) => rest.every((names) => names.includes(name)));
  const answers = Object.entries(responses).map(([status, response]) => {
    const own = Object.keys(response.headers).filter((name) => !everywhere.includes(name));
    const headers = own.length > 0 ? html` <small>with ${headerLinks(own)}</small>` : undefined;
    return html`<dt>${status}</dt>
<dd>${meaning(response)}${headers}</dd>
`;
  });
  return html`<p>Each with ${headerLinks(everywhere)}.</p>
<dl class="answers">${answers}</dl>
`;
}

/** Links to the problems, or the description of another answer. */
function meaning({ description, content = {} }: Response): Content {
  const problems = content['application/problem+json']?.examples;
  if (problems) {
    return listed(
      Object.keys(problems).map((code) => html`<a href="#error-${code}"><code>${code}</code></a>`),
    );
  }
  const component = Object.values(content)[0]?.schema.$ref;
  return [inline(description), component && [': ', schemaLink(component)]];
}

function headerLinks(names: readonly string[]): Content {
  return listed(names.map((name) => html`<a href="#header-${name.toLowerCase()}">${name}</a>`));
}

function exampleView(value: object): Html {
  return html`<details><summary>An answer</summary><pre>${JSON.stringify(value, null, 2)}</pre></details>`;
}

/** The anchor is where a problem's `type` points to. */
function errorView(code: ErrorCode, { components }: OpenApiDocument): Html {
  const { properties = {} } = components.schemas[problemName(code)]!;
  const { summary, value } = components.examples[code]!;
  const extras = extrasOf(code);
  const own = {
    properties: Object.fromEntries(extras.map((name) => [name, properties[name]!])),
    required: extras,
  };
  return html`<article id="error-${code}">
<h3>${errorTable[code].status} <code>${code}</code></h3>
<p>${summary}. ${errorTable[code].detail}</p>
${extras.length > 0 ? schemaView(own) : undefined}
${exampleView(value)}
</article>
`;
}

/** Without the schemas of problems, which the errors show. */
function schemasView({ components }: OpenApiDocument): Html[] {
  const problems = new Set(errorCodes.map(problemName));
  return Object.entries(components.schemas)
    .filter(([name]) => !problems.has(name))
    .map(
      ([name, schema]) => html`<article id="schema-${name}"><h3>${name}</h3>
<p>${inline(schema.description ?? '')}</p>${schemaView(schema)}</article>
`,
    );
}
