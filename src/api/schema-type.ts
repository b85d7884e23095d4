import type { Schema } from './schema.ts';

/** A schema as a TypeScript type, for whoever reads answers or writes requests. */

/** Schema of a component or of a member → the name of its type; undefined: it is spelt out where it stands. */
export type Naming = (schema: Schema) => string | undefined;

/** Right of a colon. `indent` is that of the line on which the type begins. */
export function typeOf(schema: Schema, nameOf: Naming, indent = ''): string {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.prefixItems !== undefined) return tuple(schema.prefixItems, nameOf, indent);
  if (schema.items !== undefined) {
    const item = typeOf(schema.items, nameOf, indent);
    return schema.items.enum === undefined || /^\w+$/.test(item) ? `${item}[]` : `(${item})[]`;
  }
  if (schema.properties !== undefined) return membersOf(schema, nameOf, indent);
  switch (schema.type) {
    case 'string':
    case 'boolean':
      return schema.type;
    case 'number':
    case 'integer':
      return 'number';
    default:
      throw new Error(`A schema of this form has no TypeScript type yet: ${JSON.stringify(schema)}`);
  }
}

/** With labels where the items' descriptions are such, as x and y are. */
function tuple(items: readonly Schema[], nameOf: Naming, indent: string): string {
  const labelled = items.every(({ description }) => /^[a-z]+$/.test(description ?? ''));
  const types = items.map((item) => typeOf(item, nameOf, indent));
  return `[${types.map((type, i) => (labelled ? `${items[i]!.description}: ${type}` : type)).join(', ')}]`;
}

/** `{ … }` with a comment above each member. */
export function membersOf(schema: Schema, nameOf: Naming, indent = ''): string {
  const inner = `${indent}  `;
  const lines = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const mark = schema.required?.includes(name) ? '' : '?';
    return [...comment(noteOn(member), inner), `${inner}${name}${mark}: ${typeOf(member, nameOf, inner)};`];
  });
  return ['{', ...lines, `${indent}}`].join('\n');
}

/** What the type leaves out: description, bounds, default. */
function noteOn({ description = '', minimum, maximum, default: fallback }: Schema): string {
  const range =
    minimum !== undefined && maximum !== undefined
      ? `${minimum} to ${maximum}`
      : minimum === undefined
        ? ''
        : `from ${minimum}`;
  const notes = [range, fallback === undefined ? '' : `default ${fallback}`].filter((note) => note !== '');
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
}

const widest = 110;

/** Lines of a JSDoc comment; none for no text. */
export function comment(text: string, indent = ''): string[] {
  if (text === '') return [];
  const oneLine = `${indent}/** ${text} */`;
  if (oneLine.length <= widest) return [oneLine];
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (`${indent} * ${longer}`.length <= widest) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`];
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value}'`;
}
