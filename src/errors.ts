/**
 * The error table: every code that a client can see, with its status, its title, and what to do about it.
 * `detail` is the default text; a handler may give a more specific one. docs/errors.md and the OpenAPI document are
 * generated from here. A test compares it with native/core/error.h.
 */
export const errorTable = {
  invalid_multipart: {
    status: 400,
    title: 'The body is not well-formed multipart/form-data',
    detail:
      'Send multipart/form-data with a boundary, closed by its final boundary; most HTTP clients do this when given a form.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not well-formed JSON',
    detail: 'Send JSON in UTF-8; "position" is the character at which something is wrong.',
  },
  missing_field: {
    status: 400,
    title: 'A required field is missing or empty',
    detail: 'Send both image1 and image2, each with the bytes of a picture.',
  },
  invalid_field: {
    status: 400,
    title: 'A field has a value of the wrong form or out of range',
    detail: 'Correct the field named in "field"; "expected" says what it takes.',
  },
  too_many_images: {
    status: 400,
    title: 'There are too many pictures',
    detail: 'Send fewer pictures at once; "limit" is the most that can be compared with one.',
  },
  duplicate_field: { status: 400, title: 'A field was sent twice', detail: 'Send each field once.' },
  missing_api_key: {
    status: 401,
    title: 'No API key',
    detail: 'Send your key in the x-api-key header, or as Authorization: Bearer.',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not valid',
    detail: 'The key is unknown, revoked or expired; ask the operator for a new one.',
  },
  forbidden_scope: {
    status: 403,
    title: 'The key may not use this endpoint',
    detail: 'Ask the operator for a key with the scope named in "required_scope".',
  },
  not_found: {
    status: 404,
    title: 'No such endpoint',
    detail: 'Check the host, the version prefix and the exact path.',
  },
  endpoint_disabled: {
    status: 404,
    title: 'This endpoint is switched off',
    detail: 'The operator has disabled this endpoint on this server.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path takes another method',
    detail: 'Use a method listed in the Allow header.',
  },
  upload_timeout: {
    status: 408,
    title: 'The body did not arrive in time',
    detail: 'Send the pictures faster, or smaller ones.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    detail: 'Send smaller pictures; "limit_bytes" is the most a body may have.',
  },
  image_too_large: {
    status: 413,
    title: 'An image is too large',
    detail: 'Send a smaller picture; "limit_bytes" is the most an image may have.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is of a type that this endpoint does not take',
    detail: 'Send the form as multipart/form-data with a boundary.',
  },
  unsupported_image_format: {
    status: 415,
    title: 'The image is of a format that is not supported',
    detail:
      'Send JPEG, PNG or WebP; "detected" says what this looks like. An iPhone converts HEIC itself for a file input with accept="image/jpeg"; on a server use heif-convert.',
  },
  image_decode_failed: {
    status: 422,
    title: 'The image is damaged',
    detail: 'The picture cannot be decoded; send an intact one.',
  },
  image_dimensions: {
    status: 422,
    title: "The image's width or height is out of range",
    detail: 'Scale the picture to fit within "limit_pixels" and at least the shortest side allowed.',
  },
  image_too_complex: {
    status: 422,
    title: 'The image takes too long to decode',
    detail: 'Save the picture again, as an ordinary JPEG or with fewer pixels, and send that.',
  },
  no_face_found: {
    status: 422,
    title: 'No face was found',
    detail: '"errors" lists each image without a face; send a picture in which the face is clearly visible.',
  },
  face_index_out_of_range: {
    status: 422,
    title: 'There is no face with that index',
    detail: '"faces_found" faces were found; indices start at 0, and -1 chooses automatically.',
  },
  low_quality_face: {
    status: 422,
    title: 'A compared face is too poor',
    detail: '"errors" lists each image with such a face and the reasons; send a better picture of it.',
  },
  embedding_mismatch: {
    status: 422,
    title: 'The embeddings are of another model pack',
    detail: 'Embed the images again with "expected": embeddings of "given" cannot be compared with it.',
  },
  invalid_embedding: {
    status: 422,
    title: 'An embedding is malformed',
    detail: 'Send the embedding named in "field" as embed gave it.',
  },
  rate_limit_exceeded: {
    status: 429,
    title: 'Rate limit exceeded',
    detail: 'Wait as long as Retry-After says, then send again.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'Something went wrong on our side; quote the request_id to the operator.',
  },
  overloaded: {
    status: 503,
    title: 'The server is at its limit',
    detail: 'Wait as long as Retry-After says, then send again.',
  },
  not_ready: {
    status: 503,
    title: 'The server is not ready yet',
    detail: 'Wait as long as Retry-After says, then send again.',
  },
  shutting_down: {
    status: 503,
    title: 'The server is shutting down',
    detail: 'Send the request again; another server or the restarted one will take it.',
  },
  deadline_exceeded: {
    status: 504,
    title: 'The deadline passed before there was an answer',
    detail: 'The server was too busy to answer in time; send again later.',
  },
} as const satisfies Record<string, { status: number; title: string; detail: string }>;

export type ErrorCode = keyof typeof errorTable;
export const errorCodes = Object.keys(errorTable) as ErrorCode[];

/** Members of a problem besides the standard ones, by the contract. */
export interface ProblemExtras {
  detail?: string;
  field?: string;
  position?: number;
  expected?: string;
  given?: string;
  required_scope?: string;
  limit?: number;
  limit_bytes?: number;
  limit_pixels?: number;
  width?: number;
  height?: number;
  detected?: string;
  faces_found?: number;
  errors?: readonly ({ field: string; code?: string; reasons?: readonly string[] } & Partial<
    Pick<ProblemExtras, 'detected' | 'width' | 'height' | 'limit_pixels' | 'faces_found'>
  >)[];
}

/** A refusal with a code of the table. http/responses.ts serialises it. */
export class Problem extends Error {
  readonly code: ErrorCode;
  readonly extras: ProblemExtras;

  constructor(code: ErrorCode, extras: ProblemExtras = {}) {
    super(extras.detail ?? errorTable[code].detail);
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return errorTable[this.code].status;
  }
}
