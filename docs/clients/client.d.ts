// Made by scripts/generate-docs.mjs of src/client/index.ts; change that instead.
// biome-ignore-all lint/correctness/noUnusedPrivateClassMembers: one stands for all of them

import type {
  AdvancedMatchValues,
  DetectAnswer,
  DetectValues,
  EmbedAnswer,
  EmbeddingsAnswer,
  EmbeddingsQuestion,
  EmbedValues,
  ErrorCode,
  ManyAnswer,
  ManyValues,
  MatchAnswer,
  ModelsAnswer,
  Problem,
} from 'facematch/client-types';
/** The service's client for Node. Needs no package, and imports nothing from the server. */
/** The bytes of a JPEG, PNG or WebP. `many` gives the name of a `File` back. */
export type Picture = Uint8Array | ArrayBuffer | Blob;
export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:8080`. A path in it goes before `/API`. */
  url: string | URL;
  /** The API key. */
  key: string;
  /**
   * Time limit of one try, from its start to the last byte of the answer; 45,000 by default: more than a server takes by its
   * own defaults, 30 s for the upload and 10 s for the answer.
   */
  timeout_ms?: number;
  /** How many times a request is sent again at most; 2 by default. */
  retries?: number;
  /** The longest wait before a retry; 60,000 by default. Where Retry-After asks for more, there is no retry. */
  maxWait_ms?: number;
  /**
   * Sends pictures as JSON, in base64, which is a third larger: where a gateway lets nothing else through. False by default. The
   * results of `many` then have no names.
   */
  json?: boolean;
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch;
}
export interface CallOptions {
  /** Ends the request, or the wait before a retry. The call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}
/**
 * What a `FacematchError` is about: a code of the server, or `network` (no connection, or it broke), `timeout` (no
 * answer within `timeout_ms`), `unexpected` (an answer that is not facematch's, such as a proxy's page).
 */
export type FacematchErrorCode = ErrorCode | 'network' | 'timeout' | 'unexpected';
/** A request without a result. */
export declare class FacematchError extends Error {
  readonly name = 'FacematchError';
  /** What is wrong, for programs. */
  readonly code: FacematchErrorCode;
  /** The HTTP status; undefined where there was no answer. */
  readonly status: number | undefined;
  /** The body of the answer (RFC 9457); undefined with `network`, `timeout` and `unexpected`. */
  readonly problem: Problem | undefined;
  /** How long the server asks to wait; undefined where it does not say. */
  readonly retryAfter_ms: number | undefined;
  /** `details` are the members of the same name, and the cause. */
  constructor(
    code: FacematchErrorCode,
    message: string,
    details?: {
      status?: number;
      problem?: Problem;
      retryAfter_ms?: number | undefined;
      cause?: unknown;
    },
  );
}
/**
 * Asks one server. Every method rejects with a `FacematchError`, with the reason of an aborted signal, or with a TypeError for what
 * is no picture; that is then not sent.
 */
export declare class FacematchClient {
  #private;
  /** Throws a TypeError where the address is none, or the key cannot be sent. Sends nothing. */
  constructor(options: ClientOptions);
  /** Compares two pictures. Fields other than `threshold_percent` need a key with the scope `match:advanced`. */
  match(
    image1: Picture,
    image2: Picture,
    fields?: AdvancedMatchValues,
    options?: CallOptions,
  ): Promise<MatchAnswer>;
  /** Compares one picture with up to 16 others. Each of them has a result, or a problem of its own. */
  many(
    image1: Picture,
    images2: readonly Picture[],
    fields?: ManyValues,
    options?: CallOptions,
  ): Promise<ManyAnswer>;
  /** Finds the faces of a picture. A picture without one is no error. */
  detect(image: Picture, fields?: DetectValues, options?: CallOptions): Promise<DetectAnswer>;
  /** Finds the faces of a picture, and gives their embeddings. The operator has to switch this on. */
  embed(image: Picture, fields?: EmbedValues, options?: CallOptions): Promise<EmbedAnswer>;
  /** Compares an embedding with up to 1,000 others. The operator has to switch this on. */
  matchEmbeddings(question: EmbeddingsQuestion, options?: CallOptions): Promise<EmbeddingsAnswer>;
  /** Tells the model pack that the server has loaded. */
  models(options?: CallOptions): Promise<ModelsAnswer>;
}
