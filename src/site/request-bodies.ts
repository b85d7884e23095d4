import type { FieldRule, ImageEndpoint } from '../endpoints/endpoint.ts';
import { imageFields, repeatedField } from '../endpoints/images.ts';
import type { Listed } from '../endpoints/index.ts';
import { maxTargets, type NumberRule } from '../engine/match-options.ts';
import { ref, type Schema } from './json-schema.ts';

/** What an endpoint takes → what OpenAPI calls a request body. */

interface RequestBody {
  description: string;
  required: true;
  content: Record<string, { schema: Schema; encoding?: Record<string, { contentType: string }> }>;
}

export function bodyOf(endpoint: Listed): { requestBody?: RequestBody } {
  switch (endpoint.takes) {
    case 'nothing':
      return {};
    case 'pictures':
      return { requestBody: formBody(endpoint) };
    case 'embeddings': {
      const schema = ref('schemas', 'EmbeddingsRequest');
      const description =
        'JSON of at most 4 MiB. A member that is not known is ignored and named in `warnings`; an optional one that is null is absent.';
      return { requestBody: { description, required: true, content: { 'application/json': { schema } } } };
    }
  }
}

function formBody({ fields }: ImageEndpoint): RequestBody {
  const repeated = repeatedField(fields);
  const images = imageFields(fields);
  const schemaOf = (picture: Schema): Schema => ({
    type: 'object',
    required: images,
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, rule]) => {
        const schema = fieldSchema(rule, picture);
        return [name, name === repeated ? severalOf(schema) : schema];
      }),
    ),
  });
  return {
    description:
      'A form as multipart/form-data (RFC 7578), with its parts in any order and each field at most once' +
      `${repeated === undefined ? '' : `, except ${repeated}`}. Booleans are true and false in any case, or 1 and 0; a field ` +
      'that is empty, or null in JSON, has its default. Or the same as JSON: pictures are base64 (RFC 4648 section 4, with or ' +
      'without padding), numbers and booleans are those of JSON or the texts of a form, and limits count the bytes of a picture, ' +
      'not its characters. A field that the endpoint does not know is ignored and named in `warnings`, as is one that stands in ' +
      'the query of the address.',
    required: true,
    content: {
      'multipart/form-data': {
        // `format` is how OpenAPI 3.0 marked a file; tools with a file picker still use it.
        schema: schemaOf({ type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' }),
        encoding: Object.fromEntries(
          images.map((name) => [name, { contentType: 'image/jpeg, image/png, image/webp' }]),
        ),
      },
      'application/json': { schema: schemaOf({ type: 'string', contentEncoding: 'base64' }) },
    },
  };
}

/** `picture` says how a picture is sent. */
function fieldSchema(rule: FieldRule, picture: Schema): Schema {
  const { description } = rule;
  switch (rule.kind) {
    case 'image':
      return { ...picture, description };
    case 'decimal': {
      const form = 'Digits with an optional decimal point: no sign, no exponent';
      return { type: 'number', ...bounds(rule), description: `${description}. ${form}` };
    }
    case 'integer':
      return { type: 'integer', ...bounds(rule), description };
    case 'boolean':
      return { type: 'boolean', default: rule.default, description };
    case 'choice':
      return { type: 'string', enum: rule.values, default: rule.default, description };
  }
}

/** A field that may be sent several times. */
function severalOf(items: Schema): Schema {
  return { type: 'array', minItems: 1, maxItems: maxTargets, items };
}

function bounds({ min, max, default: fallback }: NumberRule): Schema {
  return { minimum: min, maximum: max, ...(fallback === undefined ? {} : { default: fallback }) };
}
