import type {
  AdvancedMatchValues,
  ChallengeResponse,
  DetectResponse,
  DetectValues,
  EmbeddingsRequest,
  EmbeddingsResponse,
  EmbedResponse,
  EmbedValues,
  ErrorCode,
  LiveResponse,
  LiveValues,
  ManyResponse,
  ManyValues,
  MatchResponse,
  ModelsResponse,
  PersonResponse,
  PersonValues,
  Problem,
} from 'facematch/client-types';

/** The client for Node. It compiles to one file without imports, which can be copied, and one file of types. */

/** The bytes of a JPEG, PNG or WebP image. `many` returns the name of a `File` in its results. */
export type ImageBytes = Uint8Array | ArrayBuffer | Blob;

export interface ClientOptions {
  /** URL of the server, such as `http://127.0.0.1:8080`. A path in it is prepended to `/API`. */
  url: string | URL;
  /** The API key. */
  key: string;
  /**
   * Maximum time of one attempt, from its start to the last byte of the response; 45,000 by default. The server's own
   * default limits are 30 s for the upload and 10 s for the response.
   */
  timeout_ms?: number;
  /** Maximum number of retries of a request; 2 by default. */
  retries?: number;
  /**
   * Maximum wait before a retry, to which the client adds up to a second; 60,000 by default. The client does not
   * retry if Retry-After is longer.
   */
  maxWait_ms?: number;
  /**
   * Sends images as base64 in JSON, for gateways that reject forms. The body is a third larger, and the results
   * of `many` have no names. False by default.
   */
  json?: boolean;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the request, or the wait before a retry. The call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Code of a `FacematchError`: an error code of the server, `network` (the connection failed), `timeout` (no
 * response within `timeout_ms`), or `unexpected` (a response that is not facematch's, such as a proxy's page).
 */
export type FacematchErrorCode = ErrorCode | 'network' | 'timeout' | 'unexpected';

/**
 * A failed request. The message is meant for the user: it contains the server's `detail`, or describes the failure.
 */
export class FacematchError extends Error {
  override readonly name = 'FacematchError';
  /** Error code, for programs. */
  readonly code: FacematchErrorCode;
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** The body of the response (RFC 9457); undefined with `network`, `timeout` and `unexpected`. */
  readonly problem: Problem | undefined;
  /** The server's Retry-After; undefined if it is missing or not a number of seconds. */
  readonly retryAfter_ms: number | undefined;

  /** `details`: the properties of the same name, and the cause. */
  constructor(
    code: FacematchErrorCode,
    message: string,
    details: { status?: number; problem?: Problem; retryAfter_ms?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, 'cause' in details ? { cause: details.cause } : {});
    this.code = code;
    this.status = details.status;
    this.problem = details.problem;
    this.retryAfter_ms = details.retryAfter_ms;
  }
}

const prefix = '/API/v1.0';

/** Statuses of temporary errors. Sending a request twice is safe, except `live`, which uses up its challenge. */
const retryable = new Set([408, 429, 503, 504]);

/** Statuses after which the challenge in the request is still valid. */
const challengeUnused = new Set([429, 503]);

interface Body {
  /** The Content-Type; '' for an empty body. */
  type: string;
  /** Encoded once, so that every attempt sends the same bytes. */
  bytes: ArrayBuffer | string;
}

/** Images by field; an array for a field that may be sent several times. */
type Images = Readonly<Record<string, ImageBytes | readonly ImageBytes[]>>;

/**
 * Client of one server. Methods reject with a `FacematchError`, or with the reason of an aborted signal. If a value
 * is not an image, they reject with a TypeError before anything is sent.
 */
export class FacematchClient {
  readonly #base: string;
  readonly #headers: Headers;
  readonly #timeout_ms: number;
  readonly #retries: number;
  readonly #maxWait_ms: number;
  readonly #encode: (images: Images, fields: object) => Promise<Body>;
  readonly #fetch: typeof fetch | undefined;

  /** Throws a TypeError if the URL is invalid, or the key is missing or cannot be sent in a header. Sends nothing. */
  constructor(options: ClientOptions) {
    const { origin, pathname } = new URL(options.url);
    if (!/^https?:/.test(origin)) throw new TypeError(`not an http(s) URL: ${options.url}`);
    if (!options.key) throw new TypeError('no API key: give one as `key`');
    this.#base = origin + pathname.replace(/\/+$/, '') + prefix;
    this.#headers = new Headers({ 'x-api-key': options.key });
    this.#timeout_ms = options.timeout_ms ?? 45_000;
    this.#retries = options.retries ?? 2;
    this.#maxWait_ms = options.maxWait_ms ?? 60_000;
    this.#encode = options.json ? json : form;
    this.#fetch = options.fetch;
  }

  /** Compares two images. Fields other than `threshold_percent` need a key with the scope `match:advanced`. */
  async match(
    image1: ImageBytes,
    image2: ImageBytes,
    fields: AdvancedMatchValues = {},
    options: CallOptions = {},
  ): Promise<MatchResponse> {
    const { threshold_percent: _, ...controls } = fields;
    const advanced = Object.values(controls).some((value) => value !== undefined);
    const path = `/face/match/upload${advanced ? '/advanced' : ''}`;
    return this.#send(path, await this.#encode({ image1, image2 }, fields), options);
  }

  /** Compares one image with up to 16 others. Each of them has its own result or problem. */
  async many(
    image1: ImageBytes,
    images2: readonly ImageBytes[],
    fields: ManyValues = {},
    options: CallOptions = {},
  ): Promise<ManyResponse> {
    return this.#send(
      '/face/match/upload/many',
      await this.#encode({ image1, image2: images2 }, fields),
      options,
    );
  }

  /** Compares up to 4 photos of one person with up to 16 of another, as one decision. */
  async person(
    images1: readonly ImageBytes[],
    images2: readonly ImageBytes[],
    fields: PersonValues = {},
    options: CallOptions = {},
  ): Promise<PersonResponse> {
    const images = { image1: images1, image2: images2 };
    return this.#send('/face/match/upload/person', await this.#encode(images, fields), options);
  }

  /** Gets a challenge for `live`. The operator must enable this endpoint. */
  async challenge(options: CallOptions = {}): Promise<ChallengeResponse> {
    return this.#send('/face/match/challenge', { type: '', bytes: new ArrayBuffer(0) }, options);
  }

  /**
   * Checks that the frames show the movements of a challenge, and compares them with up to 16 photos of one
   * person. A challenge is accepted once, so the client retries only while the challenge is still valid. The
   * operator must enable this endpoint.
   */
  async live(
    challenge: string,
    frames: readonly ImageBytes[],
    images2: readonly ImageBytes[],
    fields: LiveValues = {},
    options: CallOptions = {},
  ): Promise<LiveResponse> {
    const body = await this.#encode({ frame: frames, image2: images2 }, { ...fields, challenge });
    return this.#send('/face/match/upload/live', body, options, challengeUnused);
  }

  /** Finds the faces in an image. An image without a face is not an error. */
  async detect(
    image: ImageBytes,
    fields: DetectValues = {},
    options: CallOptions = {},
  ): Promise<DetectResponse> {
    return this.#send('/face/detect/upload', await this.#encode({ image }, fields), options);
  }

  /** Finds the faces in an image and returns their embeddings. The operator must enable this endpoint. */
  async embed(
    image: ImageBytes,
    fields: EmbedValues = {},
    options: CallOptions = {},
  ): Promise<EmbedResponse> {
    return this.#send('/face/embed/upload', await this.#encode({ image }, fields), options);
  }

  /** Compares one person's embeddings with those of up to 1,000 people. The operator must enable this endpoint. */
  async matchEmbeddings(request: EmbeddingsRequest, options: CallOptions = {}): Promise<EmbeddingsResponse> {
    const body = { type: 'application/json', bytes: JSON.stringify(request) };
    return this.#send('/face/match/embeddings', body, options);
  }

  /** Returns the model pack that the server has loaded. */
  async models(options: CallOptions = {}): Promise<ModelsResponse> {
    return this.#send('/models', undefined, options);
  }

  /** Sends the request, with retries. `statuses`: the statuses after which it is sent again. */
  async #send<ResponseBody>(
    path: string,
    body: Body | undefined,
    { signal }: CallOptions,
    statuses: ReadonlySet<number> = retryable,
  ): Promise<ResponseBody> {
    for (let retry = 0; ; retry++) {
      try {
        return (await this.#sendOnce(path, body, signal)) as ResponseBody;
      } catch (error) {
        if (!(error instanceof FacematchError) || retry >= this.#retries) throw error;
        const mayRetry = error.code === 'network' ? statuses === retryable : statuses.has(error.status ?? 0);
        if (!mayRetry) throw error;
        // A retry before Retry-After would be rejected again.
        if ((error.retryAfter_ms ?? 0) > this.#maxWait_ms) throw error;
        const wait_ms = error.retryAfter_ms ?? Math.min(500 * 2 ** retry, this.#maxWait_ms);
        // Up to a second of jitter, so that clients rejected together do not retry together.
        await sleep(wait_ms + 1000 * Math.random(), signal);
      }
    }
  }

  async #sendOnce(path: string, body: Body | undefined, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    const send = this.#fetch ?? globalThis.fetch;
    const headers = new Headers(this.#headers);
    if (body?.type) headers.set('content-type', body.type);
    const post = body ? { method: 'POST', body: body.bytes } : {};
    const ending = new AbortController();
    const end = () => ending.abort();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      end();
    }, this.#timeout_ms);
    signal?.addEventListener('abort', end);
    let response: Response;
    let text: string;
    try {
      // Redirects are not followed, because they could send the key to another host.
      response = await send(this.#base + path, {
        ...post,
        headers,
        redirect: 'manual',
        signal: ending.signal,
      });
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      const from = `no response from ${this.#base}`;
      if (late) throw new FacematchError('timeout', `${from} within ${this.#timeout_ms} ms`, { cause });
      throw new FacematchError('network', `${from}: ${causeText(cause)}`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
    const value = parsed(text);
    if ((response.status === 200 || response.status === 201) && value !== undefined) return value;
    throw errorOf(response, value, text);
  }
}

/** Waits `ms`. Rejects with the signal's reason when the signal is aborted. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}

/** Encodes a multipart form. Fields that are undefined are omitted. */
async function form(images: Images, fields: object): Promise<Body> {
  const data = new FormData();
  for (const [name, sent] of Object.entries(images)) {
    for (const image of isList(sent) ? sent : [sent]) {
      const given = requireBytes(name, image);
      const blob = given instanceof Blob ? given : new Blob([given]);
      data.append(name, blob, 'name' in blob ? String(blob.name) : name);
    }
  }
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) data.append(name, fieldText(value));
  }
  const encoded = new Response(data);
  return { type: encoded.headers.get('content-type')!, bytes: await encoded.arrayBuffer() };
}

/** Encodes JSON. Fields that are undefined are omitted. */
async function json(images: Images, fields: object): Promise<Body> {
  const base64 = async (name: string, image: ImageBytes) => {
    const given = requireBytes(name, image);
    const bytes = given instanceof Blob ? new Uint8Array(await given.arrayBuffer()) : given;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  };
  const members = await Promise.all(
    Object.entries(images).map(async ([name, sent]) => [
      name,
      await (isList(sent) ? Promise.all(sent.map((one) => base64(name, one))) : base64(name, sent)),
    ]),
  );
  const bytes = JSON.stringify({ ...Object.fromEntries(members), ...fields });
  return { type: 'application/json', bytes };
}

const isList = (sent: ImageBytes | readonly ImageBytes[]): sent is readonly ImageBytes[] =>
  Array.isArray(sent);

/** Uses the class name, because `instanceof` fails for an ArrayBuffer of another realm, such as a test runner's. */
const isArrayBuffer = (given: unknown) =>
  /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(given));

/** Throws a TypeError that says what to pass instead, because programs without types may pass any value. */
function requireBytes(name: string, image: ImageBytes): Uint8Array<ArrayBuffer> | Blob {
  if (image instanceof Blob) return image;
  if (isArrayBuffer(image)) return new Uint8Array(image as ArrayBuffer);
  if (!ArrayBuffer.isView(image)) throw new TypeError(`${name} is ${insteadOf(image)}`);
  return new Uint8Array(image.buffer as ArrayBuffer, image.byteOffset, image.byteLength);
}

/** Describes the value that was passed instead of the bytes of an image, and the fix. */
function insteadOf(given: unknown): string {
  if (typeof given === 'string')
    return 'text, not the bytes of an image: read a file with readFile of node:fs/promises';
  if (typeof given !== 'object' || given === null) return `${String(given)}, not the bytes of an image`;
  if ('then' in given) return 'a promise: await it';
  const isStream = 'getReader' in given || Symbol.asyncIterator in given;
  return isStream
    ? 'a stream: read all of it with buffer of node:stream/consumers'
    : 'an object, not the bytes of an image';
}

/** Formats a field. Numbers have no exponent, because the server rejects it. */
function fieldText(value: unknown): string {
  const text = String(value);
  return typeof value === 'number' && text.includes('e') ? value.toFixed(20) : text;
}

/** Parses JSON. Returns undefined if it is not an object. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function errorOf({ status, headers }: Response, value: object | undefined, text: string): FacematchError {
  const wait = headers.get('retry-after') ?? '';
  const retryAfter_ms = /^\d+$/.test(wait) ? 1000 * Number(wait) : undefined;
  if (value === undefined || !('code' in value) || typeof value.code !== 'string')
    return new FacematchError('unexpected', `${status}: ${text.slice(0, 200)}`, { status, retryAfter_ms });
  const problem = value as Problem;
  const message = `${status} ${problem.code}: ${problem.detail} (request_id ${problem.request_id})`;
  return new FacematchError(problem.code, message, { status, problem, retryAfter_ms });
}

/** Returns the message of the cause, because fetch's own message is only "fetch failed". */
function causeText(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}
