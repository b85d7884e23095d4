import type { ErrorCode, ProblemExtras } from '../errors.ts';

/** What the documents say of each code besides the error table. */

/**
 * The requests that can get a problem. `path`: those that a server does not know, as one of another version; `any`: all operations; `keyed`: those that need a key;
 * `scoped`: a scope; `images`: those that take images; `faces`: that need a face; `choice`: that let the client choose a
 * face; `several`: that take several images of one name; `form`: forms; `json`: JSON; `body`: forms and JSON; `embeddings`: those
 * that take embeddings.
 */
export type Requests =
  | 'path'
  | 'any'
  | 'keyed'
  | 'scoped'
  | 'images'
  | 'faces'
  | 'choice'
  | 'several'
  | 'form'
  | 'json'
  | 'body'
  | 'embeddings';

export const problemDocs: Readonly<
  Record<
    ErrorCode,
    {
      requests: Requests;
      /** The further members that the problem always has, and sometimes a more specific detail. */
      example: ProblemExtras;
    }
  >
> = {
  invalid_multipart: { requests: 'form', example: { detail: 'The body ends before its final boundary.' } },
  invalid_json: {
    requests: 'json',
    example: { detail: 'Send JSON (RFC 8259): something is wrong at character 17.', position: 17 },
  },
  missing_field: {
    requests: 'images',
    example: { detail: 'Send the bytes of an image as image2.', field: 'image2' },
  },
  invalid_field: {
    requests: 'body',
    example: {
      detail: 'Send a decimal number from 0 to 100, such as 50 as threshold_percent, not "70,5".',
      field: 'threshold_percent',
      expected: 'a decimal number from 0 to 100, such as 50',
    },
  },
  too_many_images: { requests: 'several', example: { limit: 16 } },
  duplicate_field: { requests: 'images', example: { detail: 'Send image1 once.', field: 'image1' } },
  missing_api_key: { requests: 'keyed', example: {} },
  invalid_api_key: { requests: 'keyed', example: {} },
  forbidden_scope: { requests: 'scoped', example: { required_scope: 'match:advanced' } },
  not_found: { requests: 'path', example: {} },
  endpoint_disabled: { requests: 'any', example: {} },
  method_not_allowed: { requests: 'path', example: {} },
  upload_timeout: { requests: 'body', example: {} },
  body_too_large: { requests: 'body', example: { limit_bytes: 20_971_520 } },
  image_too_large: { requests: 'images', example: { limit_bytes: 10_485_760, field: 'image1' } },
  unsupported_media_type: { requests: 'body', example: {} },
  unsupported_image_format: {
    requests: 'images',
    example: {
      detail:
        'Send image1 as JPEG, PNG or WebP; this one looks like heic. An iPhone converts it for a file input with accept="image/jpeg"; elsewhere use heif-convert.',
      field: 'image1',
      detected: 'heic',
    },
  },
  expectation_failed: { requests: 'any', example: {} },
  image_decode_failed: {
    requests: 'images',
    example: { detail: 'Send image2 again: the image is damaged or cut short.', field: 'image2' },
  },
  image_dimensions: {
    requests: 'images',
    example: { field: 'image1', width: 65_500, height: 65_500, limit_pixels: 64_000_000 },
  },
  image_too_complex: {
    requests: 'images',
    example: {
      detail: 'Save image1 again, as an ordinary JPEG or with fewer pixels: decoding it takes too long.',
      field: 'image1',
    },
  },
  no_face_found: {
    requests: 'faces',
    example: {
      detail: 'Send an image in which the face is clearly visible as image2.',
      errors: [{ field: 'image2', code: 'no_face_found' }],
    },
  },
  face_index_out_of_range: {
    requests: 'choice',
    example: {
      detail: 'Choose a face of image1 from 0 to 2, or -1 for automatic choice; there is no face 3.',
      field: 'image1',
      faces_found: 3,
    },
  },
  low_quality_face: {
    requests: 'choice',
    example: {
      detail:
        'The face compared in image1 is too small: its face_pixels is 24, and below 36 pixels the same person is recognised less often. Send a larger image, or one taken from nearer.',
      errors: [{ field: 'image1', reasons: ['small'] }],
    },
  },
  presentation_attack: {
    requests: 'choice',
    example: {
      detail:
        'Take a new image of the person for image1: a face looks like one on a photo or a screen, with a live_score below 0.5.',
      errors: [{ field: 'image1', face_index: 0, live_score: 0.113 }],
    },
  },
  embedding_mismatch: {
    requests: 'embeddings',
    example: { expected: 'default 3.0.0', given: 'default 2.2.0' },
  },
  invalid_embedding: {
    requests: 'embeddings',
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
