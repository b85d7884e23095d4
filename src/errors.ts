/** Groups of error codes, for metrics and the audit log. */
export const errorGroups = ['request', 'image', 'key', 'rate', 'load', 'lifecycle', 'fault'] as const;
export type ErrorGroup = (typeof errorGroups)[number];

/** Kinds of requests. src/site/operations.ts uses them to list the errors of an endpoint. */
const requestKinds = [
  /** Requests to any path, known or unknown. */
  'path',
  /** Requests to any endpoint. */
  'any',
  /** Requests to an endpoint that requires a key. */
  'keyed',
  /** Requests to an endpoint that requires a scope. */
  'scoped',
  /** Requests with images. */
  'images',
  /** Requests with images that need a face. */
  'faces',
  /** Requests with an option that selects a face by its index. */
  'index',
  /** Requests with options that reject a face. */
  'rejecting',
  /** Requests with several images in one field. */
  'several',
  /** Requests with a form. */
  'form',
  /** Requests with JSON. */
  'json',
  /** Requests with a form or JSON. */
  'body',
  /** Requests with several photos, or embeddings, of one person. */
  'persons',
  /** Requests with embeddings. */
  'embeddings',
  /** Requests with the challenge of a liveness check. */
  'challenge',
] as const;
export type RequestKind = (typeof requestKinds)[number];

export interface ErrorRow {
  status: number;
  title: string;
  /** The default text. The code that rejects a request may provide a more specific text. */
  detail: string;
  /** Default: `request`. */
  group?: ErrorGroup;
  /** Text for one image, with placeholders such as `{image}`. */
  ofImage?: string;
  /** Kind of requests that can get this error. */
  requests: RequestKind;
  /** Additional members that the problem always has. */
  members?: readonly string[];
}

/** Part of `detail` that is replaced by the number of seconds if it is known. */
export const waitText = 'as long as Retry-After says';

/** All error codes of the API. A test compares the table with native/core/error.h and docs/api.md. */
export const errorTable = {
  invalid_multipart: {
    status: 400,
    title: 'The body is not well-formed multipart/form-data',
    detail: 'Send multipart/form-data with a closing boundary; most HTTP clients create it from a form.',
    requests: 'form',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not well-formed JSON',
    detail: 'Send JSON in UTF-8; "position" is the offset of the first invalid character.',
    requests: 'json',
    members: ['position'],
  },
  missing_field: {
    status: 400,
    title: 'A required field is missing or empty',
    detail: 'Send the field named in "field"; an image must not be empty.',
    requests: 'images',
    members: ['field'],
  },
  invalid_field: {
    status: 400,
    title: 'A field has an invalid value',
    detail: 'Correct the field named in "field"; "expected" lists the accepted values.',
    requests: 'body',
    members: ['field', 'expected'],
  },
  too_many_images: {
    status: 400,
    title: 'Too many images',
    detail: 'Send fewer images in one request; "limit" is the maximum.',
    requests: 'several',
    members: ['limit'],
  },
  unknown_file: {
    status: 400,
    title: 'A file was sent under an unknown name',
    detail: 'Send images under the field names of the endpoint; "field" is the unknown name.',
    requests: 'body',
    members: ['field'],
  },
  invalid_challenge: {
    status: 400,
    title: 'The challenge is not valid',
    detail:
      'Get a new challenge from match/challenge and take new frames; "reason" says why this challenge was rejected.',
    requests: 'challenge',
    members: ['reason'],
  },
  duplicate_field: {
    status: 400,
    title: 'A field was sent twice',
    detail: 'Send each field once.',
    requests: 'images',
    members: ['field'],
  },
  missing_api_key: {
    status: 401,
    title: 'Missing API key',
    detail: 'Send your key in the x-api-key header, or as Authorization: Bearer.',
    group: 'key',
    requests: 'keyed',
  },
  invalid_api_key: {
    status: 401,
    title: 'Invalid API key',
    detail: 'The key is unknown, revoked or expired; ask the operator for a new key.',
    group: 'key',
    requests: 'keyed',
  },
  forbidden_scope: {
    status: 403,
    title: 'The key may not use this endpoint',
    detail: 'Ask the operator for a key with the scope in "required_scope".',
    group: 'key',
    requests: 'scoped',
    members: ['required_scope'],
  },
  not_found: {
    status: 404,
    title: 'No such endpoint',
    detail: 'Check the host, the version prefix and the exact path.',
    requests: 'path',
  },
  endpoint_disabled: {
    status: 404,
    title: 'This endpoint is disabled',
    detail: 'The operator has disabled this endpoint on this server.',
    requests: 'any',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'Use a method listed in the Allow header.',
    requests: 'path',
  },
  upload_timeout: {
    status: 408,
    title: 'The body did not arrive in time',
    detail: 'Send the body faster, or make it smaller.',
    requests: 'body',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    detail:
      'Send smaller or fewer images, or ask the operator to raise FACEMATCH_MAX_BODY_BYTES; "limit_bytes" is the maximum body size.',
    requests: 'body',
    members: ['limit_bytes'],
  },
  image_too_large: {
    status: 413,
    title: 'An image is too large',
    detail: 'Send a smaller image; "limit_bytes" is the maximum image size.',
    group: 'image',
    requests: 'images',
    members: ['limit_bytes', 'field'],
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported content type',
    detail:
      'Send the form as multipart/form-data with a boundary, or as application/json with the images in base64.',
    requests: 'body',
  },
  unsupported_image_format: {
    status: 415,
    title: 'Unsupported image format',
    detail:
      'Send JPEG, PNG or WebP; "detected" is the kind of file that was detected. An iPhone converts HEIC for a file input with accept="image/jpeg"; on a server use heif-convert.',
    group: 'image',
    ofImage: 'Send {image} as JPEG, PNG or WebP. It {kind}',
    requests: 'images',
    members: ['field', 'detected'],
  },
  expectation_failed: {
    status: 417,
    title: 'The expectation cannot be met',
    detail: 'Send `Expect: 100-continue`, or no Expect header.',
    requests: 'any',
  },
  image_decode_failed: {
    status: 422,
    title: 'The image is damaged',
    detail: 'The image cannot be decoded; send an undamaged image.',
    group: 'image',
    ofImage: 'Send {image} again: the image is damaged or truncated.',
    requests: 'images',
    members: ['field'],
  },
  image_dimensions: {
    status: 422,
    title: 'The width or height of the image is out of range',
    detail:
      'Scale the image to at most "limit_pixels" pixels in total and 65535 pixels per side; the shorter side must not be below the minimum.',
    group: 'image',
    ofImage:
      'Scale {image}: {width} × {height} pixels are out of range. The maximum is {limit_pixels} pixels in total and 65535 per side; the shorter side must be long enough to show a face.',
    requests: 'images',
    members: ['field', 'width', 'height', 'limit_pixels'],
  },
  image_too_complex: {
    status: 422,
    title: 'The image takes too long to decode',
    detail: 'Save the image as a baseline JPEG or with fewer pixels, and send it again.',
    group: 'image',
    ofImage: 'Save {image} as a baseline JPEG or with fewer pixels: decoding it takes too long.',
    requests: 'images',
    members: ['field'],
  },
  no_face_found: {
    status: 422,
    title: 'No face found',
    detail: '"errors" lists each image without a face; send an image in which the face is clearly visible.',
    group: 'image',
    ofImage: 'For {image}, send an image in which the face is clearly visible.',
    requests: 'faces',
    members: ['errors'],
  },
  face_index_out_of_range: {
    status: 422,
    title: 'There is no face with that index',
    detail: 'The image has "faces_found" faces. Indices start at 0; -1 selects a face automatically.',
    group: 'image',
    ofImage:
      'Choose a face of {image} from 0 to {last}, or -1 for automatic selection; there is no face {index}.',
    requests: 'index',
    members: ['field', 'faces_found'],
  },
  low_quality_face: {
    status: 422,
    title: 'Face quality is too low',
    detail: '"errors" lists each image with a low-quality face and the reasons; send a better image.',
    group: 'image',
    requests: 'rejecting',
    members: ['errors'],
  },
  presentation_attack: {
    status: 422,
    title: 'A face may be shown on a photo or a screen',
    detail:
      '"errors" lists each face whose live_score is below live_threshold; take a new photo of the person. The score is often wrong, so a human should decide.',
    group: 'image',
    requests: 'rejecting',
    members: ['errors'],
  },
  photos_disagree: {
    status: 422,
    title: 'The photos on one side may show different people',
    detail:
      '"errors" lists each photo or embedding that does not agree with the others on its side; if a side has two photos, either may show someone else. Send photos of one person, or lower min_agreement_percent.',
    group: 'image',
    requests: 'persons',
    members: ['errors'],
  },
  embedding_mismatch: {
    status: 422,
    title: 'The embeddings come from another model pack',
    detail:
      'Embed the images again with the pack and version in "expected"; embeddings of "given" cannot be compared with them.',
    requests: 'embeddings',
    members: ['expected', 'given'],
  },
  invalid_embedding: {
    status: 422,
    title: 'Malformed embedding',
    detail: 'Send the embedding named in "field" exactly as the embed endpoint returned it.',
    requests: 'embeddings',
    members: ['field'],
  },
  rate_limit_exceeded: {
    status: 429,
    title: 'Rate limit exceeded',
    detail: `Wait ${waitText}, then send again.`,
    group: 'rate',
    requests: 'keyed',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'The server failed; report the request_id to the operator.',
    group: 'fault',
    requests: 'any',
  },
  overloaded: {
    status: 503,
    title: 'The server is overloaded',
    detail: `Wait ${waitText}, then send again.`,
    group: 'load',
    requests: 'body',
  },
  not_ready: {
    status: 503,
    title: 'The server is not ready yet',
    detail: `Wait ${waitText}, then send again.`,
    group: 'lifecycle',
    requests: 'body',
  },
  shutting_down: {
    status: 503,
    title: 'The server is shutting down',
    detail: 'Send the request again, to another server or after the restart.',
    group: 'lifecycle',
    requests: 'any',
  },
  deadline_exceeded: {
    status: 504,
    title: 'Deadline exceeded',
    detail: 'The server was too busy to respond in time; send the request again later.',
    group: 'load',
    requests: 'body',
  },
} as const satisfies Record<string, ErrorRow>;

/** Reasons why a challenge is rejected. */
export const challengeFaults = ['malformed', 'expired', 'used', 'other_key'] as const;
export type ChallengeFault = (typeof challengeFaults)[number];

export type ErrorCode = keyof typeof errorTable;
export const errorCodes = Object.keys(errorTable) as ErrorCode[];
export const groupOf = (code: ErrorCode): ErrorGroup => (errorTable[code] as ErrorRow).group ?? 'request';

/** Returns true for a code of the error table. Log lines also have other codes, such as `client_left`. */
export const isErrorCode = (code: string | undefined): code is ErrorCode =>
  code !== undefined && Object.hasOwn(errorTable, code);

/** Codes with a text for one image. */
export type ImageErrorCode = Having<'ofImage'>;
/** Error codes of decoded images. */
export type FaceErrorCode = 'no_face_found' | 'face_index_out_of_range';
type Having<Member extends string> = {
  [Code in ErrorCode]: (typeof errorTable)[Code] extends Record<Member, unknown> ? Code : never;
}[ErrorCode];
export const imageErrorCodes = errorCodes.filter(
  (code): code is ImageErrorCode => 'ofImage' in errorTable[code],
);

type Member = (typeof errorTable)[Having<'members'>]['members'][number];

/** A specific `detail` and the additional members of a problem. src/site/schemas.ts describes the members. */
export interface ProblemExtras extends Partial<Record<Member, unknown>> {
  detail?: string;
  field?: string;
  errors?: readonly ({ field: string } & Readonly<Record<string, unknown>>)[];
}

/** A rejection with a code of the error table. src/http/responses.ts serialises it. */
export class Problem extends Error {
  readonly code: ErrorCode;
  readonly extras: ProblemExtras;
  /** Text for the log, never sent to the client. */
  readonly reason: string | undefined;

  constructor(code: ErrorCode, extras: ProblemExtras = {}, reason?: string) {
    super(extras.detail ?? errorTable[code].detail);
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
    this.reason = reason;
  }

  get status(): number {
    return errorTable[this.code].status;
  }
}
