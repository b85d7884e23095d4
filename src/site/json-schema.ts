import { z } from 'zod';

/** zod schemas as JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1). */

/** The keywords of JSON Schema that the document uses. */
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
  contentEncoding?: 'base64';
  default?: string | number | boolean;
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
}

export type ComponentKind = 'schemas' | 'headers' | 'examples' | 'parameters';

export function ref(kind: ComponentKind, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** zod schemas by the names of their components → JSON Schemas. They refer to each other by those names. */
export function jsonSchemas(schemas: Readonly<Record<string, z.ZodType>>): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, {
    uri: (id) => ref('schemas', id).$ref,
    // An input schema allows further members, which clients are told to ignore.
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // Some tools ask every list for `items`; here `maxItems` leaves none for it.
      if (jsonSchema.prefixItems) jsonSchema.items = {};
    },
  });
  return Object.fromEntries(
    Object.entries(made.schemas).map(([id, { $id: _, $schema: __, ...schema }]) => [id, schema as Schema]),
  );
}
