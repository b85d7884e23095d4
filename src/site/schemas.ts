import { z } from 'zod';
import { disagreements } from '../endpoints/agreement.ts';
import { live_score, maxFaces } from '../endpoints/face.ts';
import { qualityReasonNames } from '../endpoints/face-quality.ts';
import { faultMembers } from '../endpoints/faults.ts';
import { endpoints } from '../endpoints/index.ts';
import { mostPhotos } from '../endpoints/match-person.ts';
import { count, listOf } from '../endpoints/schema.ts';
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

/** JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1) of zod schemas, and of the error table. */

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

/** The name of its schema: `missing_field` → `MissingFieldProblem`. */
export function problemName(code: ErrorCode): string {
  return `${code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Problem`;
}

const images = ['image1', 'image2', 'image', 'frame'];
const fieldNames = [...new Set(endpoints.flatMap((one) => ('fields' in one ? Object.keys(one.fields) : [])))];
const field = (names: string[]) => z.enum(names).describe('Name of the form field');

const place = {
  field: z.enum(images).describe('The image'),
  index: count
    .describe('In a match of persons and a liveness check, the photo among those of its field')
    .optional(),
};

/** A list with an item for each faulty image. */
const imageList = (fault: z.ZodRawShape, description: string) =>
  listOf(z.object({ ...place, ...fault }), description)
    .min(1)
    .max(frameLimits.max + mostPhotos.image2);

const faultList = imageList(
  {
    code: z.enum(imageErrorCodes).describe('What is wrong with it'),
    ...z.object(faultMembers).omit({ limit_bytes: true }).partial().shape,
  },
  'One for each faulty image, in the order of the form; absent when `field` names the only one',
);

/** Schemas of members by their names. */
const schemas = {
  ...faultMembers,
  field: field(images),
  expected: z.string().describe('What the field takes'),
  position: z.int().min(0).describe('The character at which the JSON is wrong, counted from 0'),
  reason: z.enum(challengeFaults).describe('What is wrong with the challenge'),
  given: z.string().describe('What was sent'),
  required_scope: z.string().describe('The scope that the key lacks'),
  limit: z.int().min(1).describe('The most images that are accepted'),
};

/** Those that differ for one code. */
const ownSchemas: Partial<Record<ErrorCode, z.ZodRawShape>> = {
  invalid_field: {
    field: z.string().describe('Name of the form field; with embeddings, a pointer to the member (RFC 6901)'),
    position: schemas.position
      .describe('In an image in base64, the character of the body that is wrong')
      .optional(),
  },
  unsupported_image_format: { position: faultMembers.position.optional() },
  embedding_mismatch: { expected: z.string().describe('Pack and version of this server') },
  invalid_embedding: { field: z.string().describe('A pointer to the embedding (RFC 6901)') },
  duplicate_field: { field: field(fieldNames) },
  unknown_file: { field: z.string().describe('The name under which the file was sent') },
  no_face_found: {
    errors: faultList.describe('One for each faulty image, in the order of the form'),
  },
  low_quality_face: {
    errors: imageList(
      {
        reasons: listOf(
          z.enum(qualityReasonNames),
          'Why the face is too poor, as in the `reason` of a warning',
        )
          .min(1)
          .max(qualityReasonNames.length),
      },
      'One for each image whose compared face is too poor',
    ),
  },
  photos_disagree: {
    errors: disagreements.describe('One for each photo that agrees less than `min_agreement_percent`'),
  },
  presentation_attack: {
    errors: listOf(
      z.object({
        ...place,
        face_index: count.describe('The face, counted from 0, largest first'),
        live_score: live_score.describe('Below `live_threshold`'),
      }),
      'One for each face that was compared, or would be embedded, and looks like an attack',
    )
      .min(1)
      .max(maxFaces),
  },
};

/** RFC 9457 section 3.1, with the further members. */
function problemSchema(code: ErrorCode): z.ZodType {
  const { status, title, detail, members = [] }: ErrorRow = errorTable[code];
  return z
    .object({
      type: z
        .literal(problemTypes + code)
        .meta({ format: 'uri-reference', description: 'Where the problem is explained' }),
      title: z.literal(title).describe('What is wrong, the same text each time'),
      status: z.literal(status).meta({ type: 'integer', description: 'The HTTP status' }),
      detail: z.string().describe('What to do about it, for people'),
      code: z.literal(code).describe('What is wrong, for programs'),
      request_id: z.string().describe('The same as in the X-Request-Id header; quote it to the operator'),
      ...(imageErrorCodes.some((fault) => fault === code) ? { errors: faultList.optional() } : {}),
      ...Object.fromEntries(members.map((name) => [name, schemas[name as keyof typeof schemas]])),
      ...ownSchemas[code],
    })
    .describe(`${title}. ${detail}`);
}

/** The schemas by the names of their components. */
export function problemSchemas(): Record<string, Schema> {
  return jsonSchemas(Object.fromEntries(errorCodes.map((code) => [problemName(code), problemSchema(code)])));
}
