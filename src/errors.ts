/** What a refusal has to do with, for metrics and audit. */
export const errorGroups = ['request', 'picture', 'key', 'rate', 'load', 'lifecycle', 'fault'] as const;
export type ErrorGroup = (typeof errorGroups)[number];

interface ErrorRow {
  status: number;
  title: string;
  /** The default text; the code that refuses may give a more specific one. */
  detail: string;
  /** `request` where it is absent. */
  group?: ErrorGroup;
}

/** In a detail: how long to wait, until an answer knows the seconds and says these. */
export const waitWords = 'as long as Retry-After says';

/** Every code that a client can see. A test compares the table with native/core/error.h and docs/api.md. */
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
    detail: 'Send both image1 and image2, each with the bytes of an image.',
  },
  invalid_field: {
    status: 400,
    title: 'A field has a value of the wrong form or out of range',
    detail: 'Correct the field named in "field"; "expected" says what it takes.',
  },
  too_many_images: {
    status: 400,
    title: 'There are too many images',
    detail: 'Send fewer images at once; "limit" is the most that can be compared with one by this key.',
  },
  duplicate_field: {
    status: 400,
    title: 'A field was sent twice',
    detail: 'Send each field once.',
  },
  missing_api_key: {
    status: 401,
    title: 'No API key',
    detail: 'Send your key in the x-api-key header, or as Authorization: Bearer.',
    group: 'key',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not valid',
    detail: 'The key is unknown, revoked or expired; ask the operator for a new one.',
    group: 'key',
  },
  forbidden_scope: {
    status: 403,
    title: 'The key may not use this endpoint',
    detail: 'Ask the operator for a key with the scope named in "required_scope".',
    group: 'key',
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
    detail: 'Send the images faster, or smaller ones.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    detail: 'Send smaller images; "limit_bytes" is the most a body may have.',
  },
  image_too_large: {
    status: 413,
    title: 'An image is too large',
    detail: 'Send a smaller image; "limit_bytes" is the most an image may have.',
    group: 'picture',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is of a type that this endpoint does not take',
    detail:
      'Send the form as multipart/form-data with a boundary, or as application/json with the images in base64.',
  },
  unsupported_image_format: {
    status: 415,
    title: 'The image is of a format that is not supported',
    detail:
      'Send JPEG, PNG or WebP; "detected" says what this looks like. An iPhone converts HEIC itself for a file input with accept="image/jpeg"; on a server use heif-convert.',
    group: 'picture',
  },
  expectation_failed: {
    status: 417,
    title: 'The expectation cannot be met',
    detail: 'Send `Expect: 100-continue`, or no Expect header.',
  },
  image_decode_failed: {
    status: 422,
    title: 'The image is damaged',
    detail: 'The image cannot be decoded; send an intact one.',
    group: 'picture',
  },
  image_dimensions: {
    status: 422,
    title: "The image's width or height is out of range",
    detail:
      'Scale the image to fit within "limit_pixels", with at most 65535 pixels on a side and at least the shortest side allowed.',
    group: 'picture',
  },
  image_too_complex: {
    status: 422,
    title: 'The image takes too long to decode',
    detail: 'Save the image again, as an ordinary JPEG or with fewer pixels, and send that.',
    group: 'picture',
  },
  no_face_found: {
    status: 422,
    title: 'No face was found',
    detail: '"errors" lists each image without a face; send an image in which the face is clearly visible.',
    group: 'picture',
  },
  face_index_out_of_range: {
    status: 422,
    title: 'There is no face with that index',
    detail: '"faces_found" faces were found; indices start at 0, and -1 chooses automatically.',
    group: 'picture',
  },
  low_quality_face: {
    status: 422,
    title: 'A compared face is too poor',
    detail: '"errors" lists each image with such a face and the reasons; send a better image of it.',
    group: 'picture',
  },
  presentation_attack: {
    status: 422,
    title: 'A face looks like one on a photo or a screen',
    detail:
      '"errors" lists each such face with its live_score; take a new image of the person. It is a hint and often wrong: let a person decide.',
    group: 'picture',
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
    detail: `Wait ${waitWords}, then send again.`,
    group: 'rate',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'Something went wrong on our side; quote the request_id to the operator.',
    group: 'fault',
  },
  overloaded: {
    status: 503,
    title: 'The server is at its limit',
    detail: `Wait ${waitWords}, then send again.`,
    group: 'load',
  },
  not_ready: {
    status: 503,
    title: 'The server is not ready yet',
    detail: `Wait ${waitWords}, then send again.`,
    group: 'lifecycle',
  },
  shutting_down: {
    status: 503,
    title: 'The server is shutting down',
    detail: 'Send the request again; another server or the restarted one will take it.',
    group: 'lifecycle',
  },
  deadline_exceeded: {
    status: 504,
    title: 'The deadline passed before there was an answer',
    detail: 'The server was too busy to answer in time; send again later.',
    group: 'load',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;
export const errorCodes = Object.keys(errorTable) as ErrorCode[];
export const groupOf = (code: ErrorCode): ErrorGroup => (errorTable[code] as ErrorRow).group ?? 'request';

/** False for the other codes of a log line, such as `client_left`. */
export const isErrorCode = (code: string | undefined): code is ErrorCode =>
  code !== undefined && Object.hasOwn(errorTable, code);

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
  errors?: readonly ({
    field: string;
    code?: string;
    reasons?: readonly string[];
    face_index?: number;
    live_score?: number;
  } & Partial<
    Pick<ProblemExtras, 'detected' | 'position' | 'width' | 'height' | 'limit_pixels' | 'faces_found'>
  >)[];
}

/** Most characters that a detail repeats of what a client sent. */
const maxRepeated = 32;

/** What a client sent, to be repeated in a detail: cut, in the quotes given, and without what could control a terminal or a line. */
export function printable(text: string, quote = ''): string {
  const characters = [...text.slice(0, 2 * maxRepeated + 1)];
  const kept = characters.slice(0, maxRepeated).join('');
  const more = characters.length > maxRepeated ? '…' : '';
  return quote + kept.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd') + quote + more;
}

/** Most characters of a name that an answer repeats. */
const maxName = 256;

/** A name that a client chose, as `field` of an answer. */
export const shortName = (name: string) => (name.length > maxName ? `${name.slice(0, maxName)}…` : name);

export function sentWords(sent: unknown): string {
  if (typeof sent === 'string') return printable(sent, '"');
  return sent === undefined || (typeof sent === 'object' && sent !== null)
    ? 'a list or an object'
    : String(sent);
}

/** A refusal with a code of the table. src/http/responses.ts serialises it. */
export class Problem extends Error {
  readonly code: ErrorCode;
  readonly extras: ProblemExtras;
  /** For the log, never for the client. */
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
