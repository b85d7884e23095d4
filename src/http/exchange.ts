import { Problem } from '../errors.ts';
import type { Upload } from './body/upload.ts';
import { UploadClocks } from './body/upload-clocks.ts';
import type { Request } from './request.ts';
import type { UnreadResponses } from './unread.ts';

export interface Reply {
  status: number;
  headers: Headers;
  /** A Buffer is a document that all responses share, so it must not be changed. */
  body: string | Buffer;
}

export type Headers = readonly (readonly [name: string, value: string])[];

export interface ExchangeLimits {
  upload_timeout_ms: number;
  idle_ms: number;
  /** Maximum number of bytes that are read and discarded after a response. */
  drain_bytes: number;
  unread: UnreadResponses;
}

/** Ways to send a response, depending on the part of the request that has not arrived yet. */
export type ReplyMode =
  /** The request is complete. The connection stays open. */
  | 'keep'
  /** The request is complete. The connection closes after the response. */
  | 'close'
  /** A small part of the body is missing. It is discarded, and the connection stays open. */
  | 'skip'
  /**
   * More of the body is missing. Some of it is discarded before the connection closes, because closing at once could
   * lose the response (RFC 9112, section 9.6).
   */
  | 'drain'
  /** The end of the body is ambiguous. The connection closes after the response. */
  | 'cut';

/** Interface of a transport for one exchange. The transport calls `data`, `left` and `endUnclear` of the exchange. */
export interface Wire {
  /** True if the connection must close after this exchange. */
  readonly isLast: boolean;
  /** Reply modes in which the transport passes the rest of the body to `data` after the response, until `finish`. */
  readonly discards: readonly ReplyMode[];
  /** Sends the response. After an exception, the connection cannot be used any more. */
  send(reply: Reply, mode: ReplyMode): void;
  /** Called at the end of discarding. `whole`: the body is complete. */
  finish(whole: boolean): void;
  /** Closes the connection at once. */
  cut(): void;
  /** Restarts the transport's own timeout. Called while a body is arriving. */
  rearm(): void;
}

/** Properties of the body to receive. */
export interface Expected {
  /** The error if the transport cannot determine the end of the body. */
  malformed: Problem;
  /**
   * Returns true if these bytes are a complete body. If the transport waits for more bytes, the request is rejected
   * early.
   */
  isWhole(bytes: Buffer): boolean;
}

/** The client closed its connection before the response. */
export class ClientLeft extends Error {
  constructor() {
    super('The client disconnected before the response');
    this.name = 'ClientLeft';
  }
}

/** Maximum number of bytes that are discarded to keep a connection, because a new connection would cost more. */
const keepAlive_bytes = 1024 * 1024;

/**
 * Size of a small chunk. The number of smaller chunks is limited, because chunks of one byte would block the
 * main thread.
 */
const smallChunk_bytes = 256;

/** Maximum number of bytes that are discarded from a body whose upload failed. */
const lingering_bytes = 256 * 1024;

/** Maximum time for discarding a body whose upload failed, so that the client can read the response. */
const linger_ms = 1000;

const smallChunks = `Send the body in larger chunks: too many chunks have less than ${smallChunk_bytes} bytes.`;

/**
 * State of the rest of the body. `given up`: the upload timed out, or its chunks were too small. `unclear`: the
 * transport cannot determine the end.
 */
type Rest = 'coming' | 'whole' | 'given up' | 'unclear';

/**
 * State of an exchange. `holding`: the bytes of the body are kept for a later `receive`. `over`: the response was
 * sent, or the client has disconnected.
 */
interface State {
  readonly name: 'waiting' | 'holding' | 'receiving' | 'discarding' | 'over';
  /** Handles a chunk of the body. Without it, chunks are dropped. */
  take?(chunk: Uint8Array, last: boolean): void;
  readonly clocks?: UploadClocks;
  /** Rejects the pending `receive`; without a reason, with the error for an ambiguous end of the body. */
  fail?(reason?: Error): void;
}

/** Responses with these statuses have neither a body nor a Content-Length (RFC 9110, sections 15.3.5 and 15.4.5). */
export const isBodiless = (status: number) => status === 204 || status === 304;

/** One request and its response, on either transport. The response is sent at most once. */
export class Exchange {
  readonly request: Request;
  /** performance.now() when the headers were complete. */
  readonly started = performance.now();
  received = 0;
  readonly #wire: Wire;
  readonly #limits: ExchangeLimits;
  #state: State = { name: 'waiting' };
  #rest: Rest;
  /** Sum of the numbers of bytes by which small chunks are below `smallChunk_bytes`. */
  #shortfall = 0;
  #onLeft: (() => void) | undefined;
  readonly #onOver: (() => void)[] = [];

  constructor(request: Request, wire: Wire, limits: ExchangeLimits) {
    this.request = request;
    this.#wire = wire;
    this.#limits = limits;
    this.#rest = request.framing === 'none' ? 'whole' : request.framing === 'unclear' ? 'unclear' : 'coming';
  }

  /** True until the response is sent or the client has disconnected. */
  get open(): boolean {
    return this.#state.name !== 'discarding' && this.#state.name !== 'over';
  }

  /** True if more of the body may arrive. */
  get awaitsBody(): boolean {
    return this.#rest !== 'whole';
  }

  /**
   * Calls back once: when the response is sent and the rest of the body is discarded, or when the client
   * disconnects.
   */
  onOver(listener: () => void): void {
    this.#onOver.push(listener);
  }

  /** Calls back when the client disconnects before the response. Replaces the previous listener. */
  onLeft(listener: () => void): void {
    this.#onLeft = listener;
  }

  /**
   * Sends the response. Returns false if a response was sent before or the client has disconnected. `close`: closes
   * the connection after the response. If sending fails, closes the connection and throws.
   */
  reply({ status, headers, body }: Reply, further: Headers = [], close = false): boolean {
    if (!this.open) return false;
    const mode = this.#modeOf(close || this.#wire.isLast || this.request.closes);
    if (this.#wire.discards.includes(mode)) this.#discard();
    else this.#enter({ name: 'over' });
    try {
      this.#wire.send({ status, headers: [...headers, ...further], body }, mode);
    } catch (error) {
      this.#enter({ name: 'over' });
      this.#wire.cut();
      throw error;
    }
    return true;
  }

  #modeOf(last: boolean): ReplyMode {
    if (this.#rest === 'unclear') return 'cut';
    if (this.#rest === 'whole') return last ? 'close' : 'keep';
    const { content_length } = this.request;
    const isShort = content_length !== undefined && content_length - this.received <= keepAlive_bytes;
    return isShort && !last ? 'skip' : 'drain';
  }

  /**
   * Starts to collect the body, for a `receive` that follows an await. Pausing the socket instead does not work; see
   * `resume()` in docs/research/uws.md. Until `receive`, no timeout limits the body.
   */
  hold(upload: Upload): void {
    if (this.#rest === 'coming') this.#enter({ name: 'holding', take: (chunk) => upload.add(chunk) });
  }

  /**
   * Resolves to the whole body. Rejects with the upload's error, upload_timeout, `malformed` or ClientLeft. Rejects
   * with overloaded if a part of the body arrived before and was not collected by `hold`.
   */
  receive(upload: Upload, { malformed, isWhole }: Expected): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (!this.open) return reject(new ClientLeft());
      if (this.#rest === 'unclear') return reject(malformed);
      if (this.#state.name !== 'holding' && this.received > 0) return reject(new Problem('overloaded'));
      const fail = (reason: Error = malformed) => {
        this.#enter({ name: 'waiting' });
        reject(reason);
      };
      const proceed = () => {
        if (upload.fault !== undefined) return fail(upload.fault);
        if (this.#shortfall > upload.limit / 4) {
          this.#rest = 'given up';
          return fail(new Problem(malformed.code, { ...malformed.extras, detail: smallChunks }));
        }
        if (this.#rest !== 'whole') return;
        this.#enter({ name: 'waiting' });
        resolve(upload.bytes);
      };
      const { upload_timeout_ms, idle_ms } = this.#limits;
      const hasEnded = () => upload.fault === undefined && isWhole(upload.bytes);
      this.#enter({
        name: 'receiving',
        take: (chunk) => {
          upload.add(chunk);
          proceed();
        },
        fail,
        clocks: this.#clocks(upload_timeout_ms, idle_ms, hasEnded, () => {
          this.#rest = 'given up';
          fail(this.#timeout(hasEnded()));
        }),
      });
      proceed();
    });
  }

  /** Returns the problem for a body that did not arrive in time. `ended`: the received bytes are a complete body. */
  #timeout(ended: boolean): Problem {
    const { content_length, framing } = this.request;
    const missing = content_length === undefined ? undefined : content_length - this.received;
    if (!ended) {
      if (missing === undefined) return new Problem('upload_timeout');
      const detail = `${missing} of the ${content_length} bytes that Content-Length announces did not arrive in time.`;
      return new Problem('upload_timeout', {
        detail: `${detail} Send the body faster, or make it smaller.`,
      });
    }
    const detail =
      framing === 'chunked'
        ? 'The body is complete, but the last chunk, of size 0, did not arrive.'
        : `The body is complete, but Content-Length announces ${missing} more bytes. Correct Content-Length.`;
    return new Problem('upload_timeout', { detail });
  }

  /** Discards the rest of the body after the response, up to a limit of bytes and time. */
  #discard(): void {
    const { drain_bytes, upload_timeout_ms, idle_ms } = this.#limits;
    const isShort = this.#rest !== 'coming';
    const end = (whole: boolean) => {
      this.#enter({ name: 'over' });
      this.#wire.finish(whole);
    };
    let left = isShort ? lingering_bytes : drain_bytes;
    const [whole_ms, pause_ms] = isShort ? [linger_ms, linger_ms] : [upload_timeout_ms, idle_ms];
    this.#enter({
      name: 'discarding',
      take: (chunk, last) => {
        left -= chunk.byteLength + this.#shortfallOf(chunk);
        if (last || left < 0) end(last);
      },
      clocks: this.#clocks(
        whole_ms,
        pause_ms,
        () => false,
        () => end(false),
      ),
    });
  }

  /** Called by the wire for each chunk of the body. Wipes the chunk. */
  data(chunk: Uint8Array, last: boolean): void {
    this.received += chunk.byteLength;
    this.#shortfall += this.#shortfallOf(chunk);
    if (last && this.#rest === 'coming') this.#rest = 'whole';
    this.#state.clocks?.touch();
    this.#state.take?.(chunk, last);
    // Wiped, so that no part of a body remains in the transport's memory.
    chunk.fill(0);
  }

  #shortfallOf({ byteLength }: Uint8Array): number {
    return this.request.framing === 'chunked' ? Math.max(0, smallChunk_bytes - byteLength) : 0;
  }

  /** Called by the wire when the connection has closed. */
  left(): void {
    const { fail = () => this.#onLeft?.() } = this.#state;
    const isOpen = this.open;
    this.#enter({ name: 'over' });
    if (isOpen) fail(new ClientLeft());
  }

  /** Called by the wire if the end of the body is ambiguous. The rest of the connection then cannot be parsed. */
  endUnclear(): void {
    if (this.#rest === 'whole') return;
    this.#rest = 'unclear';
    if (this.#state.name === 'discarding') this.#discard();
    else this.#state.fail?.();
  }

  /** Changes the state. `over` is final. */
  #enter(next: State): void {
    this.#state.clocks?.stop();
    if (this.#state.name === 'over') return;
    this.#state = next;
    if (next.name === 'over') for (const listener of this.#onOver) listener();
  }

  #clocks(timeout_ms: number, idle_ms: number, hasEnded: () => boolean, onTimeout: () => void): UploadClocks {
    return new UploadClocks(timeout_ms, idle_ms, hasEnded, onTimeout, () => this.#wire.rearm());
  }
}
