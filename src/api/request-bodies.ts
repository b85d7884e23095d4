import type { EndpointId } from '../config.ts';
import {
  type FieldRule,
  type FormEndpoint,
  fieldTable,
  imageFields,
  mostTargets,
  type NumberRule,
  repeatedField,
} from '../http/fields.ts';
import { ref, type Schema } from './json-schema.ts';

/** What an endpoint takes → what OpenAPI calls a request body. */

interface RequestBody {
  description: string;
  required: true;
  content: Record<string, { schema: Schema; encoding?: Record<string, { contentType: string }> }>;
}

export function bodyOf(endpoint: EndpointId): { requestBody?: RequestBody } {
  if (takesForm(endpoint)) return { requestBody: formBody(endpoint) };
  if (!takesJson(endpoint)) return {};
  const schema = ref('schemas', 'EmbeddingsRequest');
  const description = 'JSON of at most 4 MiB. A member that is not known is ignored and named in `warnings`.';
  return { requestBody: { description, required: true, content: { 'application/json': { schema } } } };
}

export function takesJson(endpoint: EndpointId): boolean {
  return endpoint === 'match_embeddings';
}

export function takesForm(endpoint: EndpointId): endpoint is FormEndpoint {
  return imageFields(endpoint as FormEndpoint).length > 0;
}

/** The body of a form endpoint, from the field table. */
function formBody(endpoint: FormEndpoint): RequestBody {
  const fields = Object.entries<FieldRule>(fieldTable).filter(([, rule]) =>
    rule.endpoints.includes(endpoint),
  );
  const repeated = repeatedField(endpoint);
  const images = fields.filter(([, rule]) => rule.kind === 'image').map(([name]) => name);
  const schema: Schema = {
    type: 'object',
    required: images,
    properties: Object.fromEntries(
      fields.map(([name, rule]) => [name, name === repeated ? severalOf(rule) : fieldSchema(rule)]),
    ),
  };
  return {
    description:
      'A form as multipart/form-data (RFC 7578), with its parts in any order and each field at most once' +
      `${repeated === undefined ? '' : `, except ${repeated}`}. ` +
      'A field that the endpoint does not know is ignored and named in `warnings`.',
    required: true,
    content: {
      'multipart/form-data': {
        schema,
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
      // `format` is how OpenAPI 3.0 marked a file; tools with a file picker still use it.
      return { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream', description };
    case 'decimal': {
      const form = 'Digits with an optional decimal point: no sign, no exponent';
      return { type: 'number', ...bounds(rule), description: `${description}. ${form}` };
    }
    case 'integer':
      return { type: 'integer', ...bounds(rule), description };
    case 'boolean':
      return { type: 'boolean', default: rule.default === 'true', description };
    case 'choice':
      return { type: 'string', enum: rule.values, default: rule.default, description };
  }
}

/** A field that may be sent several times. */
function severalOf(rule: FieldRule): Schema {
  return { type: 'array', minItems: 1, maxItems: mostTargets, items: fieldSchema(rule) };
}

function bounds({ min, max, default: fallback }: NumberRule): Schema {
  return { minimum: min, maximum: max, ...(fallback === undefined ? {} : { default: fallback }) };
}
