import { z } from 'zod';
import { type ErrorCode, errorCodes, errorTable, type ProblemExtras } from '../errors.ts';
import { fieldTable, mostTargets } from '../http/fields.ts';
import { problemTypes } from '../http/responses.ts';
import { lowQuality, lowQualityProblem, type QualityReason, qualityWords } from '../matching/face-quality.ts';
import { jsonSchemas, type Schema, word } from './json-schema.ts';

/** For each error code: the requests that can get it, and its further members. */

type Extra = Exclude<keyof ProblemExtras, 'detail'>;

/**
 * The requests that can get the problem. `path`: those to no operation; `any`: all operations; `keyed`: those that need a key;
 * `scoped`: a scope; `form`: those that take a form; `faces`: that need a face; `choice`: that let the client choose a face;
 * `several`: that take several images of one name; `json`: that take JSON; `body`: forms and JSON.
 */
export type Requests =
  | 'path'
  | 'any'
  | 'keyed'
  | 'scoped'
  | 'form'
  | 'faces'
  | 'choice'
  | 'several'
  | 'json'
  | 'body';

const smallFace = {
  pose: { yaw: 0, pitch: 0, roll: 0 },
  quality: { sharpness: 0.65, brightness: 0.5, face_pixels: 24 },
};

/** `example` has the further members that the problem always has, and sometimes a more specific detail. */
export const problemTable: Readonly<Record<ErrorCode, { requests: Requests; example: ProblemExtras }>> = {
  invalid_multipart: { requests: 'form', example: { detail: 'The body ends before its final boundary.' } },
  invalid_json: {
    requests: 'json',
    example: { detail: 'Send JSON (RFC 8259): something is wrong at character 17.', position: 17 },
  },
  missing_field: {
    requests: 'form',
    example: { detail: 'Send the bytes of a picture as image2.', field: 'image2' },
  },
  invalid_field: {
    requests: 'body',
    example: {
      detail: 'Send a decimal number from 0 to 100, such as 50 as threshold_percent.',
      field: 'threshold_percent',
      expected: 'a decimal number from 0 to 100, such as 50',
    },
  },
  too_many_images: { requests: 'several', example: { limit: mostTargets } },
  duplicate_field: { requests: 'form', example: { detail: 'Send image1 once.', field: 'image1' } },
  missing_api_key: { requests: 'keyed', example: {} },
  invalid_api_key: { requests: 'keyed', example: {} },
  forbidden_scope: { requests: 'scoped', example: { required_scope: 'match:advanced' } },
  not_found: { requests: 'path', example: {} },
  endpoint_disabled: { requests: 'any', example: {} },
  method_not_allowed: { requests: 'path', example: {} },
  upload_timeout: { requests: 'body', example: {} },
  body_too_large: { requests: 'body', example: { limit_bytes: 20_971_520 } },
  image_too_large: { requests: 'form', example: { limit_bytes: 10_485_760, field: 'image1' } },
  unsupported_media_type: { requests: 'body', example: {} },
  unsupported_image_format: {
    requests: 'form',
    example: {
      detail:
        'Send image1 as JPEG, PNG or WebP; this one looks like heic. An iPhone converts it for a file input with accept="image/jpeg"; elsewhere use heif-convert.',
      field: 'image1',
      detected: 'heic',
    },
  },
  image_decode_failed: {
    requests: 'form',
    example: { detail: 'Send image2 again: the picture is damaged or cut short.', field: 'image2' },
  },
  image_dimensions: {
    requests: 'form',
    example: { field: 'image1', width: 65_500, height: 65_500, limit_pixels: 50_000_000 },
  },
  image_too_complex: {
    requests: 'form',
    example: {
      detail: 'Save image1 again, as an ordinary JPEG or with fewer pixels: decoding it takes too long.',
      field: 'image1',
    },
  },
  no_face_found: {
    requests: 'faces',
    example: {
      detail: 'Send a picture in which the face is clearly visible as image2.',
      errors: [{ field: 'image2', code: 'no_face_found' }],
    },
  },
  face_index_out_of_range: {
    requests: 'choice',
    example: {
      detail: 'Choose a face of image1 from 0 to 2, or -1 for automatic choice.',
      field: 'image1',
      faces_found: 3,
    },
  },
  low_quality_face: {
    requests: 'choice',
    example: lowQualityProblem(lowQuality('image1', smallFace))!.extras,
  },
  embedding_mismatch: {
    requests: 'json',
    example: { expected: 'default 2.2.0', given: 'default 2.0.0' },
  },
  invalid_embedding: {
    requests: 'json',
    example: {
      detail: 'Send the embedding as embed gave it: its length is not 1.',
      field: '/candidates/3/embedding',
    },
  },
  rate_limit_exceeded: { requests: 'keyed', example: {} },
  internal_error: { requests: 'any', example: {} },
  overloaded: { requests: 'body', example: {} },
  not_ready: { requests: 'body', example: {} },
  shutting_down: { requests: 'any', example: {} },
  deadline_exceeded: { requests: 'body', example: {} },
};

/** The name of its schema: `missing_field` → `MissingFieldProblem`. */
export function problemName(code: ErrorCode): string {
  return `${code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Problem`;
}

/** The further members of a problem, by the contract. */
export function extrasOf(code: ErrorCode): Extra[] {
  return Object.keys(problemTable[code].example).filter((name): name is Extra => name !== 'detail');
}

const images = ['image1', 'image2', 'image'];
const fieldNames = Object.keys(fieldTable);
const field = (names: string[]) => z.enum(names).describe('Name of the form field');

/** A list with an item for each faulty image. */
const imageList = (fault: z.ZodRawShape, description: string) =>
  z
    .array(z.object({ field: z.enum(images).describe('The picture'), ...fault }))
    .min(1)
    .max(2)
    .describe(description);

export const qualityReasonNames = Object.keys(qualityWords) as QualityReason[];

export const extraSchemas: Readonly<Record<Exclude<Extra, 'errors'>, z.ZodType>> = {
  field: field(images),
  expected: z.string().describe('What the field takes'),
  position: z.int().min(0).describe('The character at which the JSON is wrong, counted from 0'),
  given: z.string().describe('What was sent'),
  required_scope: z.string().describe('The scope that the key lacks'),
  limit: z.int().min(1).describe('The most images that are accepted'),
  limit_bytes: z.int().min(1).describe('The most bytes that are accepted'),
  limit_pixels: z.int().min(1).describe('The most pixels, width × height, that are accepted'),
  width: z.int().min(0).describe('Width that the image declares, pixels'),
  height: z.int().min(0).describe('Height that the image declares, pixels'),
  detected: word(
    {
      heic: 'HEIC or HEIF, as phones write it',
      avif: 'AVIF',
      gif: 'GIF',
      bmp: 'BMP',
      tiff: 'TIFF',
      pdf: 'PDF',
      unknown: 'none of these',
    },
    'What the bytes look like.',
  ),
  faces_found: z.int().min(0).describe('How many faces were found in the picture'),
};

/** Problems of a single image; two images may have one each. */
const imageFaults = [
  'unsupported_image_format',
  'image_decode_failed',
  'image_dimensions',
  'image_too_complex',
  'no_face_found',
  'face_index_out_of_range',
] as const satisfies readonly ErrorCode[];

/** The problems that one of several images may have. */
export const targetFaults = [
  'missing_field',
  'image_too_large',
  ...imageFaults.filter((code) => code !== 'face_index_out_of_range'),
  'low_quality_face',
] as const;

const { detected, width, height, limit_pixels, faces_found } = extraSchemas;
const faultList = imageList(
  {
    code: z.enum(imageFaults).describe('What is wrong with it'),
    detected: detected.optional(),
    width: width.optional(),
    height: height.optional(),
    limit_pixels: limit_pixels.optional(),
    faces_found: faces_found.optional(),
  },
  'One for each faulty image, in the order of the form; absent when `field` names the only one',
);

/** Schemas of members that differ for one code. */
const ownSchemas: Partial<Record<ErrorCode, z.ZodRawShape>> = {
  invalid_field: {
    field: z.string().describe('Name of the form field; of JSON, a pointer to the member (RFC 6901)'),
  },
  embedding_mismatch: { expected: z.string().describe('Pack and version of this server') },
  invalid_embedding: { field: z.string().describe('A pointer to the embedding (RFC 6901)') },
  duplicate_field: { field: field(fieldNames) },
  no_face_found: {
    errors: faultList.describe('One for each faulty image, in the order of the form'),
  },
  low_quality_face: {
    errors: imageList(
      {
        reasons: z
          .array(z.enum(qualityReasonNames))
          .min(1)
          .max(qualityReasonNames.length)
          .describe('Why the face is too poor, as in the `reason` of a warning'),
      },
      'One for each image whose compared face is too poor',
    ),
  },
};

/** RFC 9457 section 3.1, with the further members. */
function problemSchema(code: ErrorCode): z.ZodType {
  const { status, title, detail } = errorTable[code];
  const extras: Record<string, z.ZodType> = { ...extraSchemas, ...ownSchemas[code] };
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
      ...(imageFaults.some((fault) => fault === code) ? { errors: faultList.optional() } : {}),
      ...Object.fromEntries(extrasOf(code).map((name) => [name, extras[name]!])),
    })
    .describe(`${title}. ${detail}`);
}

/** The schemas by the names of their components. */
export function problemSchemas(): Record<string, Schema> {
  return jsonSchemas(Object.fromEntries(errorCodes.map((code) => [problemName(code), problemSchema(code)])));
}

/** An answer as a client would see it. */
export function problemExample(code: ErrorCode): object {
  const { status, title, detail } = errorTable[code];
  const request_id = '01JD8ZK3V6Q4M9T2X7B5C1W0RN';
  const { example } = problemTable[code];
  return { type: problemTypes + code, title, status, detail, code, request_id, ...example };
}
