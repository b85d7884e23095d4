import { z } from 'zod';
import { disagreements } from '../endpoints/agreement.ts';
import { live_score } from '../endpoints/face.ts';
import { qualityReasonNames } from '../endpoints/face-quality.ts';
import { faultMembers } from '../endpoints/faults.ts';
import { endpoints } from '../endpoints/index.ts';
import { maxPhotos } from '../endpoints/match-person.ts';
import { count, listOf } from '../endpoints/schema.ts';
import { maxFaces } from '../engine/addon.ts';
import {
  challengeFaults,
  type ErrorCode,
  type ErrorRow,
  errorCodes,
  errorTable,
  imageErrorCodes,
} from '../errors.ts';
import { problemTypes } from '../http/responses.ts';
import { frameLimits } from '../scoring/motion.ts';

/** Converts zod schemas and the error table to JSON Schemas (draft 2020-12, the dialect of OpenAPI 3.1). */

export interface Schema extends z.core.JSONSchema.BaseSchema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

export type ComponentKind = 'schemas' | 'headers' | 'examples' | 'parameters';

export function ref(kind: ComponentKind, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Converts zod schemas by component name to JSON Schemas, which refer to each other by these names. */
export function jsonSchemas(schemas: Readonly<Record<string, z.ZodType>>): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, {
    uri: (id) => ref('schemas', id).$ref,
    // An input schema allows additional members, which clients must ignore.
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // Some tools require `items` in every array. In these tuples it never applies.
      if (jsonSchema.prefixItems) jsonSchema.items = {};
    },
  });
  for (const schema of Object.values(made.schemas)) {
    delete schema.$id;
    delete schema.$schema;
  }
  return made.schemas as Record<string, Schema>;
}

/** Returns the schema name of an error code: `missing_field` becomes `MissingFieldProblem`. */
export function problemName(code: ErrorCode): string {
  return `${code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Problem`;
}

const images = ['image1', 'image2', 'image', 'frame'];
const fieldNames = [...new Set(endpoints.flatMap((one) => ('fields' in one ? Object.keys(one.fields) : [])))];
const field = (names: string[]) => z.enum(names).describe('Name of the form field');

const place = {
  field: z.enum(images).describe('Field of the image'),
  index: count
    .describe('In match_person and match_live: zero-based index of the photo within its field')
    .optional(),
};

const faultList = listOf(
  z.object({
    ...place,
    code: z.enum(imageErrorCodes).describe('Error code of the image'),
    ...z.object(faultMembers).omit({ limit_bytes: true }).partial().shape,
  }),
  'One for each image with an error, in the order of the form; absent if it would be one item without `index`',
)
  .min(1)
  .max(frameLimits.max + maxPhotos.image2);

/** Schemas of problem members, by name. */
const schemas = {
  ...faultMembers,
  field: field(images),
  expected: z.string().describe('Accepted values'),
  position: z.int().min(0).describe('Zero-based offset of the character at which the JSON is invalid'),
  reason: z.enum(challengeFaults).describe('Reason why the challenge was rejected'),
  given: z.string().describe('Pack and version of the embeddings in the request'),
  required_scope: z.string().describe('Scope that the key needs'),
  limit: z.int().min(1).describe('Maximum number of images'),
};

/** Schemas that differ for one error code. */
const ownSchemas: Partial<Record<ErrorCode, z.ZodRawShape>> = {
  invalid_field: {
    field: z
      .string()
      .describe('Name of the form field; with embeddings, a JSON pointer to the member (RFC 6901)'),
    position: schemas.position
      .describe('With a base64 image: offset of the invalid character in the body')
      .optional(),
  },
  unsupported_image_format: { position: faultMembers.position.optional() },
  embedding_mismatch: { expected: z.string().describe('Pack and version of this server') },
  invalid_embedding: { field: z.string().describe('JSON pointer to the embedding (RFC 6901)') },
  duplicate_field: { field: field(fieldNames) },
  unknown_file: {
    field: z
      .string()
      .describe('Name under which the file was sent; with embeddings, a JSON pointer to the member'),
  },
  no_face_found: {
    errors: faultList.describe('One for each image with an error, in the order of the form'),
  },
  low_quality_face: {
    errors: listOf(
      z.object({
        ...place,
        face_index: count.describe('In embed: index of the face; 0 is the largest').optional(),
        reasons: listOf(z.enum(qualityReasonNames), 'Reasons, as in the `reason` of a warning')
          .min(1)
          .max(qualityReasonNames.length),
      }),
      'One for each compared or embedded face of low quality',
    )
      .min(1)
      .max(maxFaces),
  },
  photos_disagree: {
    errors: disagreements.describe('One for each photo whose agreement is below `min_agreement_percent`'),
  },
  presentation_attack: {
    errors: listOf(
      z.object({
        ...place,
        face_index: count.describe('Index of the face; 0 is the largest'),
        live_score: live_score.describe('Below `live_threshold`'),
      }),
      'One for each compared or embedded face whose `live_score` is below `live_threshold`',
    )
      .min(1)
      .max(maxFaces),
  },
};

/** Returns the schema of a problem (RFC 9457, section 3.1) with the extension members of its code. */
function problemSchema(code: ErrorCode): z.ZodType {
  const { status, title, detail, members = [] }: ErrorRow = errorTable[code];
  return z
    .object({
      type: z
        .literal(problemTypes + code)
        .meta({ format: 'uri-reference', description: 'URL of the documentation of the error' }),
      title: z.literal(title).describe('Short summary, the same for every occurrence'),
      status: z.literal(status).meta({ type: 'integer', description: 'HTTP status' }),
      detail: z.string().describe('Explanation of the error and how to fix it'),
      code: z.literal(code).describe('Machine-readable code'),
      request_id: z
        .string()
        .describe('Same value as the X-Request-Id header; include it in a report to the operator'),
      ...(imageErrorCodes.some((fault) => fault === code) ? { errors: faultList.optional() } : {}),
      ...Object.fromEntries(members.map((name) => [name, schemas[name as keyof typeof schemas]])),
      ...ownSchemas[code],
    })
    .describe(`${title}. ${detail}`);
}

/** Returns the problem schemas by component name. */
export function problemSchemas(): Record<string, Schema> {
  return jsonSchemas(Object.fromEntries(errorCodes.map((code) => [problemName(code), problemSchema(code)])));
}
