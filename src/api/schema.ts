/** JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1): the keywords that the document uses, and short makers. */
export interface Schema {
  $ref?: string;
  type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean';
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  prefixItems?: Schema[];
  minItems?: number;
  maxItems?: number;
  enum?: readonly (string | number)[];
  const?: string | number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  pattern?: string;
  format?: string;
  contentMediaType?: string;
  default?: string | number | boolean;
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
}

interface Bounds {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

/** Exactly the members of the type, all required: the compiler keeps document and answer equal. */
export function object<T>(properties: { [Name in keyof T]-?: Schema }, description?: string): Schema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties),
  };
}

/** The same object, but that these members may be absent. */
export function optional(names: readonly string[], schema: Schema): Schema {
  return { ...schema, required: schema.required!.filter((name) => !names.includes(name)) };
}

export function number(description: string, bounds: Bounds = {}): Schema {
  return { type: 'number', description, ...bounds };
}

export function integer(description: string, bounds: Bounds = {}): Schema {
  return { type: 'integer', description, ...bounds };
}

export function text(description: string, rest: Pick<Schema, 'pattern' | 'format'> = {}): Schema {
  return { type: 'string', description, ...rest };
}

export function boolean(description: string): Schema {
  return { type: 'boolean', description };
}

/** One of the words, each with its meaning. */
export function word(words: Readonly<Record<string, string>>, description: string): Schema {
  const meanings = Object.entries(words).map(([value, meaning]) => `\`${value}\`: ${meaning}`);
  return { type: 'string', enum: Object.keys(words), description: `${description} ${meanings.join('; ')}.` };
}

export function list(
  items: Schema,
  description: string,
  rest: Pick<Schema, 'minItems' | 'maxItems'> = {},
): Schema {
  return { type: 'array', items, description, ...rest };
}

/** Of a fixed number of items. */
export function tuple(prefixItems: Schema[], description: string): Schema {
  const { length } = prefixItems;
  return { type: 'array', prefixItems, minItems: length, maxItems: length, description };
}

export type ComponentKind = 'schemas' | 'headers' | 'examples' | 'parameters';

export function ref(kind: ComponentKind, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}
