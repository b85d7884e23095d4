import { z } from 'zod';

/** Makes JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1) of zod schemas. */

export interface Schema extends z.core.JSONSchema.BaseSchema {
  properties?: Record<string, Schema>;
  items?: Schema;
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
  for (const schema of Object.values(made.schemas)) {
    delete schema.$id;
    delete schema.$schema;
  }
  return made.schemas as Record<string, Schema>;
}
