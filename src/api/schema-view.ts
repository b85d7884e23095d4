import { type Content, type Html, html } from './html.ts';
import { inline } from './prose.ts';
import type { Schema } from './schema.ts';

/** A schema as a list of its members, for people. Members of members are shown below them, components linked to. */
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

/** What a value looks like: its type, its bounds and its default. */
function form(schema: Schema): Content {
  const notes = [bounds(schema), fallback(schema)].filter((note) => note !== undefined);
  return [kind(schema), ...notes.map((note) => html`, ${note}`)];
}

function kind(schema: Schema): Content {
  if (schema.$ref !== undefined) return componentLink(schema.$ref);
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined)
    return schema.enum.map((value, i) => [i > 0 ? ' | ' : '', html`<code>${value}</code>`]);
  if (schema.prefixItems !== undefined) {
    return [
      '[',
      schema.prefixItems.map((item, i) => [i > 0 ? ', ' : '', item.description ?? kind(item)]),
      ']',
    ];
  }
  if (schema.items !== undefined) return ['list of ', kind(schema.items)];
  if (schema.format === 'binary') return 'file';
  return schema.type;
}

function bounds({ minimum, maximum, exclusiveMinimum, pattern }: Schema): Content | undefined {
  if (pattern !== undefined) return html`<code>${pattern}</code>`;
  if (exclusiveMinimum !== undefined)
    return `above ${exclusiveMinimum}${maximum === undefined ? '' : ` to ${maximum}`}`;
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return minimum === undefined ? undefined : `from ${minimum}`;
}

function fallback({ default: value }: Schema): Content | undefined {
  return value === undefined ? undefined : html`default <code>${String(value)}</code>`;
}

/** Where the page shows a component's schema. */
export function schemaAnchor(name: string): string {
  return `schema-${name}`;
}

export function componentLink($ref: string): Html {
  const name = $ref.slice($ref.lastIndexOf('/') + 1);
  return html`<a href="#${schemaAnchor(name)}">${name}</a>`;
}
