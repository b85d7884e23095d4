import { type Content, type Html, html } from './html.ts';
import type { Schema } from './json-schema.ts';

/** Schemas and descriptions as HTML, for the docs page. */

/** A schema as a list of its members, with nested members below them and links to components. */
export function schemaView(schema: Schema): Html {
  return html`<dl>${Object.entries(schema.properties ?? {}).map(([name, member]) => memberView(name, member, schema))}</dl>`;
}

function memberView(name: string, member: Schema, owner: Schema): Html {
  const must = owner.required?.includes(name) ? undefined : html`<span class="form">, optional</span>`;
  const inner = member.properties ? member : member.items?.properties ? member.items : undefined;
  return html`<dt><code>${name}</code> <span class="form">${form(member)}</span>${must}</dt>
<dd>${member.description === undefined ? undefined : inline(member.description)}${inner && schemaView(inner)}</dd>
`;
}

/** The type of a value, its bounds and its default. */
function form(schema: Schema): Content {
  const { default: fallback } = schema;
  const notes = [
    bounds(schema),
    fallback === undefined ? undefined : html`default <code>${String(fallback)}</code>`,
  ];
  return [kind(schema), notes.map((note) => note && html`, ${note}`)];
}

function kind({
  $ref,
  type,
  const: constant,
  enum: words,
  prefixItems,
  items,
  format,
  oneOf,
}: Schema): Content {
  if ($ref !== undefined) return schemaLink($ref);
  if (constant !== undefined) return html`<code>${JSON.stringify(constant)}</code>`;
  if (words !== undefined)
    return listed(
      words.map((value) => html`<code>${value}</code>`),
      ' | ',
    );
  if (prefixItems !== undefined)
    return ['[', listed(prefixItems.map((item) => item.description ?? kind(item))), ']'];
  if (oneOf !== undefined) return listed(oneOf.map(kind), ' | ');
  if (items !== undefined) return ['list of ', kind(items)];
  return format === 'binary' ? 'file' : type;
}

function bounds({ minimum, maximum, exclusiveMinimum, pattern }: Schema): Content {
  if (pattern !== undefined) return html`<code>${pattern}</code>`;
  const to = maximum === undefined ? '' : ` to ${maximum}`;
  if (exclusiveMinimum !== undefined) return `above ${exclusiveMinimum}${to}`;
  if (minimum === undefined) return undefined;
  return maximum === undefined ? `from ${minimum}` : `${minimum}${to}`;
}

/** A link to a component's schema in the page. */
export function schemaLink($ref: string): Html {
  const name = $ref.slice($ref.lastIndexOf('/') + 1);
  return html`<a href="#schema-${name}">${name}</a>`;
}

/** The items with a separator between them. */
export function listed(items: readonly Content[], separator = ', '): Content {
  return items.map((item, i) => [i > 0 ? separator : '', item]);
}

/** The part of Markdown that the descriptions use: headings, paragraphs, lists and `code`. */
export function prose(markdown: string): Html[] {
  return markdown.split(/\n{2,}/).map(block);
}

function block(text: string): Html {
  if (text.startsWith('## ')) return html`<h3>${inline(text.slice(3))}</h3>`;
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('- '));
  if (first === -1) return html`<p>${inline(text)}</p>`;
  const items = lines.slice(first).map((line) => html`<li>${inline(line.slice(2))}</li>`);
  const lead = first === 0 ? undefined : html`<p>${inline(lines.slice(0, first).join(' '))}</p>`;
  return html`${lead}<ul>${items}</ul>`;
}

export function inline(text: string): Html[] {
  // Between backticks, every other piece is code.
  return text.split('`').map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`));
}
