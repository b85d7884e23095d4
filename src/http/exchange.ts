import { Problem } from '../errors.ts';
import type { Upload } from './body/upload.ts';
import { UploadClocks } from './body/upload-clocks.ts';
import type { Request } from './request.ts';
import type { UnreadResponses } from './unread.ts';

export interface Reply {
  status: number;
  headers: Headers;
  /** A Buffer is a document's: all responses share it, so it must not be changed. */
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

/** Ways to send a response, by how much of the request has not arrived yet. */
export type ReplyMode =
  /** The request is complete, and the connection stays open. */
  | 'keep'
  /** The request is complete, and the connection closes. */
  | 'close'
  /** A short rest of the body is skipped, and the connection is kept. */
  | 'skip'
  /**
   * More of the body is discarded before the connection ends: ending it now could lose the response (RFC 9112
   * section 9.6).
   */
  | 'drain'
  /** The end of the body is ambiguous, so nothing that follows is read. */
  | 'cut';

/** Interface of a transport for one exchange. It calls `data`, `left` and `endUnclear`. */
export interface Wire {
  /** True if the connection ends with this exchange, whatever its client requests. */
  readonly isLast: boolean;
  /** Reply modes in which the rest of a body still arrives at `data` after the response, until `finish`. */
  readonly discards: readonly ReplyMode[];
  /** Sends the response. If it throws, nothing more can be sent. */
  send(reply: Reply, mode: ReplyMode): void;
  /** Called when nothing more is discarded; `whole`: the body has ended. */
  finish(whole: boolean): void;
  /** Closes the connection at once. */
  cut(): void;
  /** Restarts the transport's own timeout; called while a body is arriving. */
  rearm(): void;
}

/** Properties of a body while it is received, besides its bytes. */
export interface Expected {
  /** Thrown if the transport cannot determine the end of the body. */
  malformed: Problem;
  /**
   * Returns true if these bytes are a whole body although the transport waits for more: the request is then
   * rejected early.
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

/** Reading the rest of a body up to this size is cheaper than a new connection. */
const keepAlive_bytes = 1024 * 1024;

/**
 * Smaller chunks are limited in number, because a large body in chunks of one byte would block the main
 * thread.
 */
const smallChunk_bytes = 256;

/** Maximum number of discarded bytes of an abandoned body. */
const lingering_bytes = 256 * 1024;

/** Maximum time for discarding an abandoned body, so that the client can still read the response. */
const linger_ms = 1000;

const smallChunks = `Send the body in larger chunks: too many of them have less than ${smallChunk_bytes} bytes.`;

/**
 * `given up`: its time was over, or its chunks were too small. `unclear`: the transport cannot determine its
 * end.
 */
type Rest = 'coming' | 'whole' | 'given up' | 'unclear';

/**
 * State of a body. `holding`: its bytes are kept for a later `receive`; `over`: the response was sent, or the
 * client has left.
 */
interface State {
  readonly name: 'waiting' | 'holding' | 'receiving' | 'discarding' | 'over';
  /** Without it the bytes are dropped. */
  take?(chunk: Uint8Array, last: boolean): void;
  readonly clocks?: UploadClocks;
  /**
   * Rejects while the body is received; without a reason, with the error of a body whose end is ambiguous.
   */
  fail?(reason?: Error): void;
}

/** RFC 9110 sections 15.3.5 and 15.4.5: neither has a body or a Content-Length. */
export const isBodiless = (status: number) => status === 204 || status === 304;

/**
 * One request and its response, on either transport. The reply is sent at most once, and never to a client
 * that has left.
 */
export class Exchange {
  readonly request: Request;
  /** performance.now() when the headers had arrived. */
  readonly started = performance.now();
  received = 0;
  readonly #wire: Wire;
  readonly #limits: ExchangeLimits;
  #state: State = { name: 'waiting' };
  #rest: Rest;
  /** Total number of bytes by which small chunks fell short. */
  #shortfall = 0;
  #onLeft: (() => void) | undefined;
  readonly #onOver: (() => void)[] = [];

  constructor(request: Request, wire: Wire, limits: ExchangeLimits) {
    this.request = request;
    this.#wire = wire;
    this.#limits = limits;
    this.#rest = request.framing === 'none' ? 'whole' : request.framing === 'unclear' ? 'unclear' : 'coming';
  }

  /** False once the response was sent or the client has left. */
  get open(): boolean {
    return this.#state.name !== 'discarding' && this.#state.name !== 'over';
  }

  /** True if more of its body may arrive. */
  get awaitsBody(): boolean {
    return this.#rest !== 'whole';
  }

  /**
   * Calls back once, when the response is sent and the rest of its body is discarded, or when the client has
   * left.
   */
  onOver(listener: () => void): void {
    this.#onOver.push(listener);
  }

  /** Calls back when the client leaves before the response. Only the last listener is called. */
  onLeft(listener: () => void): void {
    this.#onLeft = listener;
  }

  /**
   * Sends the response; returns false if the client has left. `close` ends the connection after it. If it
   * throws, the connection has ended.
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
   * Starts to collect the body for a `receive` that follows an await. Pausing the socket instead does not
   * work: see `resume()` in docs/research/uws.md. The wait must be short, because no timeout limits it.
   */
  hold(upload: Upload): void {
    if (this.#rest === 'coming') this.#enter({ name: 'holding', take: (chunk) => upload.add(chunk) });
  }

  /**
   * Reads the whole body. Rejects with the upload's error, with upload_timeout, with overloaded if a part of
   * it arrived before and was not held, with `malformed`, or with ClientLeft.
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

  /**
   * Returns the problem for a body that did not arrive in time. `ended`: the received bytes are a whole body.
   */
  #timeout(ended: boolean): Problem {
    const { content_length, framing } = this.request;
    const missing = content_length === undefined ? undefined : content_length - this.received;
    if (!ended) {
      if (missing === undefined) return new Problem('upload_timeout');
      const detail = `${missing} of the ${content_length} bytes that Content-Length announces did not arrive in time.`;
      return new Problem('upload_timeout', {
        detail: `${detail} Send the images faster, or smaller ones.`,
      });
    }
    const detail =
      framing === 'chunked'
        ? 'The body had already ended, but the last chunk, of size 0, did not arrive.'
        : `The body had already ended, but Content-Length announces ${missing} bytes more: correct it.`;
    return new Problem('upload_timeout', { detail });
  }

  /** Discards the rest of the body after the response, limited in bytes and time. */
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

  /** Called by the wire for each chunk of the body. The chunk is wiped when this returns. */
  data(chunk: Uint8Array, last: boolean): void {
    this.received += chunk.byteLength;
    this.#shortfall += this.#shortfallOf(chunk);
    if (last && this.#rest === 'coming') this.#rest = 'whole';
    this.#state.clocks?.touch();
    this.#state.take?.(chunk, last);
    // Wiped so that nothing of a body remains in the transport's memory.
    chunk.fill(0);
  }

  #shortfallOf({ byteLength }: Uint8Array): number {
    return this.request.framing === 'chunked' ? Math.max(0, smallChunk_bytes - byteLength) : 0;
  }

  left(): void {
    const { fail = () => this.#onLeft?.() } = this.#state;
    const isOpen = this.open;
    this.#enter({ name: 'over' });
    if (isOpen) fail(new ClientLeft());
  }

  /**
   * Called by the wire if the end of the body is ambiguous, so that nothing more of the connection can be
   * read.
   */
  endUnclear(): void {
    if (this.#rest === 'whole') return;
    this.#rest = 'unclear';
    if (this.#state.name === 'discarding') this.#discard();
    else this.#state.fail?.();
  }

  /** The only place where the state changes. Nothing follows `over`. */
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
