import { Problem } from '../errors.ts';
import type { Upload } from './body/upload.ts';
import { UploadClocks } from './body/upload-clocks.ts';
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

/** How an answer goes out, by what is still to come of its request. */
export type ReplyMode =
  /** Nothing, and the connection is kept. */
  | 'keep'
  /** Nothing, and the connection ends. */
  | 'close'
  /** A short rest of the body, which is skipped, and the connection is kept. */
  | 'skip'
  /** More of it, which is discarded before the connection ends: to end it now could lose the answer (RFC 9112 section 9.6). */
  | 'drain'
  /** It is not clear where the body ends, so nothing that follows is read. */
  | 'cut';

/** What a transport must be able to do for one exchange. It calls `data`, `left` and `endUnclear`. */
export interface Wire {
  /** Whether the connection ends with this exchange, whatever its client asks for. */
  readonly isLast: boolean;
  /** The ways in which the rest of a body still comes to `data` behind the answer, until `finish`. */
  readonly discards: readonly ReplyMode[];
  /** Sends the answer. When it throws, nothing more can be sent. */
  send(reply: Reply, mode: ReplyMode): void;
  /** Nothing more is discarded; `whole`: the body has ended. */
  finish(whole: boolean): void;
  /** Ends the connection at once. */
  cut(): void;
  /** Begins a timeout of the transport's own anew; called while a body is coming. */
  rearm(): void;
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

/** `given up`: its time was up, or its chunks were too small. `unclear`: the transport cannot tell where it ends. */
type Rest = 'coming' | 'whole' | 'given up' | 'unclear';

/** What becomes of a body's bytes. `holding`: they are kept for a later `receive`; `over`: answered, or the client has left. */
interface State {
  readonly name: 'waiting' | 'holding' | 'receiving' | 'discarding' | 'over';
  /** Without it they are dropped. */
  take?(chunk: Uint8Array, last: boolean): void;
  readonly clocks?: UploadClocks;
  /** While receiving: rejects, without a reason with the fault of a body whose end is unclear. */
  fail?(reason?: Error): void;
}

/** RFC 9110 sections 15.3.5 and 15.4.5: neither has a body or a Content-Length. */
export const isBodiless = (status: number) => status === 204 || status === 304;

/** One request and its answer, whatever the transport. The reply is sent at most once, and never to a client that has left. */
export class Exchange {
  readonly request: Request;
  /** performance.now() when the head had arrived. */
  readonly started = performance.now();
  received = 0;
  readonly #wire: Wire;
  readonly #limits: ExchangeLimits;
  #state: State = { name: 'waiting' };
  #rest: Rest;
  /** By how many bytes small chunks fell short, all together. */
  #shortfall = 0;
  #onLeft: (() => void) | undefined;
  readonly #onOver: (() => void)[] = [];

  constructor(request: Request, wire: Wire, limits: ExchangeLimits) {
    this.request = request;
    this.#wire = wire;
    this.#limits = limits;
    this.#rest = request.framing === 'none' ? 'whole' : request.framing === 'unclear' ? 'unclear' : 'coming';
  }

  /** False once it was answered or the client has left. */
  get open(): boolean {
    return this.#state.name !== 'discarding' && this.#state.name !== 'over';
  }

  /** Whether more of its body may come. */
  get awaitsBody(): boolean {
    return this.#rest !== 'whole';
  }

  /** Calls back once when it is answered, and what may be discarded of its body has come, or when the client has left. */
  onOver(listener: () => void): void {
    this.#onOver.push(listener);
  }

  /** Calls back when the client leaves before the answer. The last listener counts. */
  onLeft(listener: () => void): void {
    this.#onLeft = listener;
  }

  /** Sends the answer; false when the client has left. `close` ends the connection after it. When it throws, the connection has ended. */
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
   * Begins to collect the body for a `receive` that comes after an await. Pausing the socket instead does not work: see
   * `resume()` in docs/uws-lifecycle.md. The wait must be short, because no timeout limits it.
   */
  hold(upload: Upload): void {
    if (this.#rest === 'coming') this.#enter({ name: 'holding', take: (chunk) => upload.add(chunk) });
  }

  /**
   * Reads the whole body. Rejects with the upload's fault, with upload_timeout, with overloaded when a part of it arrived
   * before and was not held, with `malformed`, or with ClientLeft.
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

  /** Discards the rest of the body behind the answer, limited in bytes and time. */
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

  /** For the wire: bytes of the body have come. When this returns, the chunk is wiped. */
  data(chunk: Uint8Array, last: boolean): void {
    this.received += chunk.byteLength;
    this.#shortfall += this.#shortfallOf(chunk);
    if (last && this.#rest === 'coming') this.#rest = 'whole';
    this.#state.clocks?.touch();
    this.#state.take?.(chunk, last);
    // Nothing of a body stays in the transport's memory.
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

  /** For the wire: it cannot tell where the body ends, and nothing more of the connection can be read. */
  endUnclear(): void {
    if (this.#rest === 'whole') return;
    this.#rest = 'unclear';
    if (this.#state.name === 'discarding') this.#discard();
    else this.#state.fail?.();
  }

  /** The one place where the state changes. Nothing follows `over`. */
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
