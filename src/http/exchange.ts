import { Problem } from '../errors.ts';
import { type Upload, UploadClocks } from './body/upload.ts';
import type { Request } from './request.ts';
import type { UnreadAnswers } from './unread.ts';

export interface Reply {
  status: number;
  headers: Headers;
  /** A Buffer is that of a document: all answers share it, and nobody changes it. */
  body: string | Buffer;
}

export type Headers = readonly (readonly [name: string, value: string])[];

export interface ExchangeLimits {
  upload_timeout_ms: number;
  idle_ms: number;
  /** Most bytes that are read and discarded after an answer. */
  drain_bytes: number;
  unread: UnreadAnswers;
}

/** What is asked of a body while it is received, besides its bytes. */
export interface Expected {
  /** Thrown when the transport cannot tell where the body ends. */
  malformed: Problem;
  /** Whether these bytes are a whole body, although the transport waits for more: then it is refused soon. */
  isWhole(bytes: Buffer): boolean;
}

/** The client closed its connection before the answer. */
export class ClientLeft extends Error {
  constructor() {
    super('The client left before it was answered');
    this.name = 'ClientLeft';
  }
}

/** Reading the rest of a body up to this size is cheaper than a new connection. */
const keepAlive_bytes = 1024 * 1024;

/** Smaller chunks are limited in number: a large body in chunks of one byte would hold the main thread up. */
const smallChunk_bytes = 256;

/** Most that is discarded of a body that was given up. */
const lingering_bytes = 256 * 1024;

/** How long the rest of a body is discarded that was given up: the client can still read the answer. */
const linger_ms = 1000;

const smallChunks = `Send the body in larger chunks: too many of them have less than ${smallChunk_bytes} bytes.`;

const never = () => {};

/** RFC 9110 sections 15.3.5 and 15.4.5: neither has a body or a Content-Length. */
export const isBodiless = (status: number) => status === 204 || status === 304;

/** One request and its answer, whatever the transport. The reply is sent at most once, and never to a client that has left. */
export abstract class Exchange {
  readonly request: Request;
  /** performance.now() when the head had arrived. */
  readonly started = performance.now();
  received = 0;
  protected arrived: boolean;
  protected readonly unread: UnreadAnswers;
  readonly #limits: ExchangeLimits;
  #sink: (chunk: Uint8Array, last: boolean) => void = never;
  #clocks: UploadClocks | undefined;
  #onLeft: () => void = never;
  #onBroken: () => void = never;
  #held = false;
  /** Its time was up, or its chunks were too small: not much more of it is read. */
  #givenUp = false;
  /** By how many bytes small chunks fell short, all together. */
  #shortfall = 0;
  /** The transport cannot tell where the body ends. */
  protected broken = false;
  /** It is answered, and the rest of its body is still coming; closing now could lose the answer. */
  discarding = false;
  #onDiscarded: () => void = never;

  constructor(request: Request, limits: ExchangeLimits) {
    this.request = request;
    this.#limits = limits;
    this.unread = limits.unread;
    this.arrived = request.framing === 'none';
  }

  /** False once it was answered or the client has left. */
  abstract get open(): boolean;

  /** Calls back once when `discarding` ends. */
  onDiscarded(listener: () => void): void {
    this.#onDiscarded = listener;
  }

  /** Sends the answer; false when the client has left. `close` ends the connection after it. When it throws, the connection has ended. */
  reply(reply: Reply, further: Headers = [], close = false): boolean {
    if (!this.open) return false;
    this.#stopReceiving();
    const { status, headers, body } = reply;
    try {
      this.answer({ status, headers: [...headers, ...further], body }, close);
    } catch (error) {
      this.drop();
      throw error;
    }
    return true;
  }

  /** Sends the answer of an open exchange, in the way that fits what is still to come. When it throws, nothing more can be sent. */
  protected abstract answer(reply: Reply, close: boolean): void;

  protected abstract drop(): void;

  /** Resets a timeout of the transport's own; called while a body is coming. */
  protected rearm(): void {}

  /** Calls back when the client leaves before the answer. The last listener counts. */
  onLeft(listener: () => void): void {
    this.#onLeft = listener;
  }

  /**
   * Begins to collect the body for a `receive` that comes after an await. Pausing the socket instead does not work: see
   * `resume()` in docs/uws-lifecycle.md. The wait must be short, because no timeout limits it.
   */
  hold(upload: Upload): void {
    if (this.arrived) return;
    this.#held = true;
    this.#sink = (chunk) => upload.add(chunk);
  }

  /**
   * Reads the whole body. Rejects with the upload's fault, with upload_timeout, with overloaded when a part of it arrived
   * before and was not held, with `malformed`, or with ClientLeft.
   */
  receive(upload: Upload, { malformed, isWhole }: Expected): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (!this.open) return reject(new ClientLeft());
      if (this.broken) return reject(malformed);
      if (!this.#held && this.received > 0) return reject(new Problem('overloaded'));
      const fail = (error: Error) => {
        this.#stopReceiving();
        reject(error);
      };
      const proceed = () => {
        if (upload.fault !== undefined) return fail(upload.fault);
        if (this.#shortfall > upload.limit / 4) {
          this.#givenUp = true;
          return fail(new Problem(malformed.code, { ...malformed.extras, detail: smallChunks }));
        }
        if (!this.arrived) return;
        this.#stopReceiving();
        resolve(upload.bytes);
      };
      this.#sink = (chunk) => {
        upload.add(chunk);
        proceed();
      };
      this.#onLeft = () => fail(new ClientLeft());
      this.#onBroken = () => fail(malformed);
      const { upload_timeout_ms, idle_ms } = this.#limits;
      const hasEnded = () => upload.fault === undefined && isWhole(upload.bytes);
      this.#startClocks(upload_timeout_ms, idle_ms, hasEnded, () => {
        this.#givenUp = true;
        fail(this.#timeout(hasEnded()));
      });
      proceed();
    });
  }

  /** What to tell a client whose body did not come in time. `ended`: what came is a whole body. */
  #timeout(ended: boolean): Problem {
    const { content_length, framing } = this.request;
    const missing = content_length === undefined ? undefined : content_length - this.received;
    if (!ended) {
      if (missing === undefined) return new Problem('upload_timeout');
      const detail = `${missing} of the ${content_length} bytes that Content-Length promises did not come in time.`;
      return new Problem('upload_timeout', {
        detail: `${detail} Send the images faster, or smaller ones.`,
      });
    }
    const detail =
      framing === 'chunked'
        ? 'The body had already ended, but the last chunk, of size 0, did not come.'
        : `The body had already ended, but Content-Length promises ${missing} bytes more: correct it.`;
    return new Problem('upload_timeout', { detail });
  }

  /** Whether the connection is kept while a short rest of the body is skipped. */
  protected skips(close: boolean): boolean {
    const { content_length, closes } = this.request;
    return (
      !close && !closes && content_length !== undefined && content_length - this.received <= keepAlive_bytes
    );
  }

  /** Discards the rest of the body, limited in bytes and time, and calls `finish` at its end or at a limit. */
  protected drain(finish: (whole: boolean) => void): void {
    this.discarding = true;
    const end = (whole: boolean) => {
      this.#endDiscarding();
      this.#stopReceiving();
      finish(whole);
    };
    let left = this.#givenUp ? lingering_bytes : this.#limits.drain_bytes;
    this.#sink = (chunk, last) => {
      left -= chunk.byteLength + this.#shortfallOf(chunk);
      if (last || left < 0) end(last);
    };
    this.#onLeft = never;
    const { upload_timeout_ms, idle_ms } = this.#limits;
    const [whole_ms, pause_ms] = this.#givenUp ? [linger_ms, linger_ms] : [upload_timeout_ms, idle_ms];
    this.#startClocks(
      whole_ms,
      pause_ms,
      () => false,
      () => end(false),
    );
  }

  /** For the transport: bytes of the body have come. When this returns, the chunk is wiped. */
  protected data(chunk: Uint8Array, last: boolean): void {
    this.received += chunk.byteLength;
    this.#shortfall += this.#shortfallOf(chunk);
    if (last) this.arrived = true;
    this.#clocks?.touch();
    this.#sink(chunk, last);
    // Nothing of a body stays in the transport's memory.
    chunk.fill(0);
  }

  #shortfallOf({ byteLength }: Uint8Array): number {
    return this.request.framing === 'chunked' ? Math.max(0, smallChunk_bytes - byteLength) : 0;
  }

  /** For the transport: the connection has ended. */
  protected left(): void {
    const onLeft = this.#onLeft;
    this.#endDiscarding();
    this.#stopReceiving();
    this.#onLeft = never;
    onLeft();
  }

  /** For the transport: it cannot tell where the body ends, and nothing more of the connection can be read. */
  protected endUnclear(): void {
    this.broken = true;
    const onBroken = this.#onBroken;
    this.#onBroken = never;
    onBroken();
  }

  #endDiscarding(): void {
    if (!this.discarding) return;
    this.discarding = false;
    this.#onDiscarded();
  }

  #startClocks(timeout_ms: number, idle_ms: number, hasEnded: () => boolean, onTimeout: () => void): void {
    this.#clocks?.stop();
    this.#clocks = new UploadClocks({ timeout_ms, idle_ms, hasEnded, onTimeout, rearm: () => this.rearm() });
  }

  #stopReceiving(): void {
    this.#clocks?.stop();
    this.#clocks = undefined;
    this.#sink = never;
    this.#onBroken = never;
  }
}
