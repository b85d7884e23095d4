import type { OpenApiDocument } from './document.ts';
import { type Content, type Html, html } from './html.ts';
import type { Operation, Response } from './operations.ts';
import { inline, prose } from './prose.ts';
import { componentLink, schemaView } from './schema-view.ts';

/** An endpoint on the docs page. */

export interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

export function endpointsOf(document: OpenApiDocument): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

export function operationView({ method, path, operation }: Endpoint, document: OpenApiDocument): Html {
  const { operationId, summary, description, security, requestBody } = operation;
  const form = requestBody?.content['multipart/form-data'];
  return html`<section id="${operationId}">
<h2>${summary}</h2>
<p class="route"><b class="method">${method}</b> <code>${path}</code></p>
${prose(description)}
<p>${needs(security)}</p>
${operation['x-codeSamples'].map(({ source }) => html`<pre>${source}</pre>`)}
${requestBody && form && html`<h3>Fields</h3><p>${inline(requestBody.description)}</p>${schemaView(form.schema)}`}
<h3>Answers</h3>
${answersView(operation)}
${exampleView(operation, document)}
</section>
`;
}

function needs(security: Operation['security']): Content {
  if (security.length === 0) return 'Needs no key.';
  const scopes = security.flatMap(({ api_key }) => api_key);
  if (scopes.length === 0) return 'Needs a key, of any scope.';
  return ['Needs a key with the scope ', scopes.map((scope) => html`<code>${scope}</code>`), '.'];
}

function answersView({ responses }: Operation): Html {
  const [first, ...rest] = Object.values(responses).map(({ headers }) => Object.keys(headers));
  const everywhere = (first ?? []).filter((name) => rest.every((names) => names.includes(name)));
  return html`<p>Each with ${enumerate(everywhere.map(headerLink))}.</p>
<dl class="answers">${Object.entries(responses).map(([status, response]) => responseView(status, response, everywhere))}</dl>
`;
}

function responseView(status: string, response: Response, everywhere: readonly string[]): Html {
  const own = Object.keys(response.headers).filter((name) => !everywhere.includes(name));
  const headers = own.length > 0 ? html` <small>with ${enumerate(own.map(headerLink))}</small>` : undefined;
  return html`<dt>${status}</dt>
<dd>${meaning(response)}${headers}</dd>
`;
}

/** Links to the problems, or what there is beside. */
function meaning({ description, content = {} }: Response): Content {
  const problems = content['application/problem+json']?.examples;
  if (problems) {
    return enumerate(
      Object.keys(problems).map((code) => html`<a href="#${errorAnchor(code)}"><code>${code}</code></a>`),
    );
  }
  const component = Object.values(content)[0]?.schema.$ref;
  return [inline(description), component && [': ', componentLink(component)]];
}

function headerLink(name: string): Html {
  return html`<a href="#${headerAnchor(name)}">${name}</a>`;
}

function enumerate(items: readonly Content[]): Content {
  return items.map((item, i) => [i > 0 ? ', ' : '', item]);
}

function exampleView(operation: Operation, document: OpenApiDocument): Html | undefined {
  const [media] = Object.values(operation.responses['200']?.content ?? {});
  const [example] = Object.values(media?.examples ?? {});
  const value = document.components.examples[example?.$ref.split('/').at(-1) ?? '']?.value;
  return (
    value && html`<details><summary>An answer</summary><pre>${JSON.stringify(value, null, 2)}</pre></details>`
  );
}

/** Where a problem's `type` points to. */
export function errorAnchor(code: string): string {
  return `error-${code}`;
}

export function headerAnchor(name: string): string {
  return `header-${name.toLowerCase()}`;
}
