import type { EndpointId } from '../config.ts';
import { type FieldRule, fieldTable, type MatchEndpoint } from '../http/fields.ts';
import type { Schema } from './json-schema.ts';

/** The field table → the body of a request. */

export interface RequestBody {
  description: string;
  required: true;
  content: { 'multipart/form-data': { schema: Schema; encoding: Record<string, { contentType: string }> } };
}

export function takesForm(endpoint: EndpointId): endpoint is MatchEndpoint {
  return endpoint === 'match' || endpoint === 'match_advanced';
}

export function formBody(endpoint: MatchEndpoint): RequestBody {
  const fields = Object.entries<FieldRule>(fieldTable).filter(([, rule]) =>
    rule.endpoints.includes(endpoint),
  );
  const images = fields.filter(([, rule]) => rule.kind === 'image').map(([name]) => name);
  return {
    description:
      'A form as multipart/form-data (RFC 7578), its parts in any order, each field at most once. ' +
      'A field that the endpoint does not know is ignored and named in `warnings`.',
    required: true,
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          required: images,
          properties: Object.fromEntries(fields.map(([name, rule]) => [name, fieldSchema(rule)])),
        },
        encoding: Object.fromEntries(
          images.map((name) => [name, { contentType: 'image/jpeg, image/png, image/webp' }]),
        ),
      },
    },
  };
}

function fieldSchema(rule: FieldRule): Schema {
  const { description } = rule;
  switch (rule.kind) {
    case 'image':
      // `format` is OpenAPI 3.0's word for a file; tools that offer a file picker still look for it.
      return { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream', description };
    case 'decimal':
      return numeric(
        'number',
        rule,
        `${description}. Digits with an optional decimal point: no sign, no exponent`,
      );
    case 'integer':
      return numeric('integer', rule, description);
    case 'boolean':
      return { type: 'boolean', default: rule.default === 'true', description };
    case 'choice':
      return { type: 'string', enum: rule.values, default: rule.default, description };
  }
}

function numeric(
  type: 'number' | 'integer',
  rule: { min: number; max: number; default: number | undefined },
  description: string,
): Schema {
  const fallback = rule.default === undefined ? {} : { default: rule.default };
  return { type, minimum: rule.min, maximum: rule.max, ...fallback, description };
}
