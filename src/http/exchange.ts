import { STATUS_CODES } from 'node:http';
import { Problem } from '../errors.ts';
import { copyRequest, type Request } from './request.ts';
import { type Upload, UploadClocks } from './upload.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/**
 * One request and its answer. Only this file uses µWS's request and response; docs/uws-lifecycle.md lists the rules for that.
 * Other files see a copied Request, the body as one buffer, and a reply that is sent at most once and never to a client that
 * has left.
 */
export interface Reply {
  status: number;
  headers: Headers;
  body: string | Buffer;
}

export type Headers = readonly (readonly [name: string, value: string])[];

export interface ExchangeLimits {
  upload_timeout_ms: number;
  idle_ms: number;
  /** Most bytes that are read and discarded after an answer. */
  drain_bytes: number;
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

/** A write that is larger than µWS's cork buffer of 16 KiB goes to the socket at once. */
const beyondCork_bytes = 16 * 1024 + 1;

const never = () => {};

function writeHead(res: HttpResponse, { status, headers }: Reply): void {
  res.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`);
  for (const [name, value] of headers) res.writeHeader(name, value);
}

export class Exchange {
  readonly request: Request;
  /** performance.now() when the head had arrived. */
  readonly started = performance.now();
  /** Body bytes that have arrived. */
  received = 0;
  readonly #limits: ExchangeLimits;
  /** undefined once answered or aborted: µWS's object must not be used after that. */
  #res: HttpResponse | undefined;
  /** Answered, while the rest of the body is discarded. */
  #draining: HttpResponse | undefined;
  #arrived: boolean;
  /** Inside µWS's request callback. */
  #inCallback = true;
  #sink: (chunk: ArrayBuffer, last: boolean) => void = never;
  #clocks: UploadClocks | undefined;
  #onLeft: () => void = never;
  #held = false;

  /** Call inside µWS's request callback, and `stay` before that returns. */
  constructor(res: HttpResponse, req: HttpRequest, limits: ExchangeLimits) {
    this.#limits = limits;
    this.#res = res;
    this.request = copyRequest(res, req);
    this.#arrived = this.request.framing === 'none';
  }

  /** Call at the end of µWS's request callback: attaches the listeners that an unfinished exchange needs. */
  stay(): void {
    this.#inCallback = false;
    const res = this.#res ?? this.#draining;
    if (res === undefined) return;
    res.onAborted(() => this.#aborted());
    if (!this.#arrived) res.onData((chunk, last) => this.#data(chunk, last));
  }

  /** False once it was answered or the client has left. */
  get open(): boolean {
    return this.#res !== undefined;
  }

  /** Calls back when the client leaves before the answer. The last listener counts. */
  onLeft(listener: () => void): void {
    this.#onLeft = listener;
  }

  /**
   * Begins to collect the body for a `receive` that comes after an await. Pausing the socket instead does not work: see
   * `resume()` in docs/uws-lifecycle.md. The wait must be short, because no timeout limits it.
   */
  hold(upload: Upload): void {
    if (this.#arrived) return;
    this.#held = true;
    this.#sink = (chunk) => upload.add(chunk);
  }

  /**
   * Reads the whole body. Rejects with the upload's fault, with upload_timeout, with overloaded when a part of it arrived
   * before and was not held, or with ClientLeft.
   */
  receive(upload: Upload): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const res = this.#res;
      if (res === undefined) return reject(new ClientLeft());
      if (!this.#held && this.received > 0) return reject(new Problem('overloaded'));
      const fail = (error: Error) => {
        this.#stopReceiving();
        reject(error);
      };
      const proceed = () => {
        if (upload.fault !== undefined) return fail(upload.fault);
        if (!this.#arrived) return;
        this.#stopReceiving();
        resolve(upload.bytes);
      };
      this.#sink = (chunk) => {
        upload.add(chunk);
        proceed();
      };
      this.#onLeft = () => fail(new ClientLeft());
      this.#startClocks(res, () => fail(new Problem('upload_timeout')));
      proceed();
    });
  }

  /** Sends the answer; false when the client has left. `close` ends the connection after it. */
  reply({ status, headers, body }: Reply, further: Headers = [], close = false): boolean {
    const res = this.#res;
    if (res === undefined) return false;
    this.#stopReceiving();
    const whole = { status, headers: [...headers, ...further], body };
    if (this.request.framing === 'unclear') this.#answerAndClose(res, whole);
    else if (this.#arrived || this.#skips(close)) this.#answer(res, whole, close);
    else this.#answerAndDrain(res, whole);
    return true;
  }

  /** Whether µWS may skip the rest of the body by itself and keep the connection for the next request. */
  #skips(close: boolean): boolean {
    const { content_length, closes } = this.request;
    return (
      !close && !closes && content_length !== undefined && content_length - this.received <= keepAlive_bytes
    );
  }

  #answer(res: HttpResponse, reply: Reply, close: boolean): void {
    const { status, body } = reply;
    this.#res = undefined;
    // RFC 9110 sections 15.3.5 and 15.4.5: neither has a body or a Content-Length.
    const bodiless = status === 204 || status === 304;
    this.#cork(res, () => {
      writeHead(res, reply);
      if (this.request.method !== 'HEAD' && !bodiless) {
        this.#end(res, body, close);
        return;
      }
      if (!bodiless) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
      if (close) res.writeHeader('Connection', 'close');
      // Without arguments: with a length, µWS 20.30 would wait for that many bytes of body.
      res.endWithoutBody();
    });
  }

  /**
   * When its cork buffer cannot be written, because the client does not read or has left, `end` of µWS 20.30 loses the body
   * and treats the request as unanswered, which ends the process unless there is an abort handler. `tryEnd` reports it, and
   * the rest is sent when there is room. Only `end` can close the connection, so a client that does not read may miss the
   * body of the last answer.
   */
  #end(res: HttpResponse, body: string | Buffer, close: boolean): void {
    res.onAborted(never);
    if (close) {
      res.end(body, close);
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (res.tryEnd(bytes, bytes.length)[0]) return;
    res.onWritable((offset) => res.tryEnd(bytes.subarray(offset), bytes.length)[0]);
  }

  /**
   * Answers while the client is still sending. Closing now would send a TCP reset, which clients report instead of the
   * answer. So the rest of the body is discarded, limited in bytes and time, before closing (RFC 9112 section 9.6).
   */
  #answerAndDrain(res: HttpResponse, reply: Reply): void {
    this.#writeWhole(res, reply, 0);
    this.#res = undefined;
    this.#draining = res;
    const finish = () => {
      this.#stopReceiving();
      this.#draining?.close();
      this.#draining = undefined;
    };
    let left = this.#limits.drain_bytes;
    this.#sink = (chunk, last) => {
      left -= chunk.byteLength;
      if (!last && left >= 0) return;
      this.#stopReceiving();
      // Not at once: µWS 20.30 goes on reading from a connection that is closed between two chunks of one packet.
      setImmediate(finish);
    };
    this.#onLeft = never;
    this.#startClocks(res, finish);
  }

  /** µWS drops its buffer when it closes such a connection, so the answer is padded to be larger than the buffer. */
  #answerAndClose(res: HttpResponse, reply: Reply): void {
    this.#res = undefined;
    this.#writeWhole(res, reply, beyondCork_bytes);
    res.close();
  }

  /**
   * Writes a complete answer and leaves the exchange open. µWS has no call for that: `end` ends the response, and `write`
   * switches to chunks. Its writeHeader sends any text, so the value of the last header carries the body.
   */
  #writeWhole(res: HttpResponse, reply: Reply, least_bytes: number): void {
    // writeHeader adds CRLF after its value. JSON and text may end with it; it is counted below.
    const text = this.request.method === 'HEAD' ? '' : reply.body.toString().padEnd(least_bytes);
    const length = Buffer.byteLength(text) + 2;
    this.#cork(res, () => {
      writeHead(res, reply);
      res.writeHeader('Date', new Date().toUTCString());
      res.writeHeader('Connection', 'close');
      res.writeHeader('Content-Length', `${length}\r\n\r\n${text}`);
    });
  }

  /** Puts everything that `write` writes into one packet; inside the request callback µWS does that itself. */
  #cork(res: HttpResponse, write: () => void): void {
    if (this.#inCallback) write();
    else res.cork(write);
  }

  #data(chunk: ArrayBuffer, last: boolean): void {
    this.received += chunk.byteLength;
    if (last) this.#arrived = true;
    this.#clocks?.touch();
    this.#sink(chunk, last);
  }

  #aborted(): void {
    this.#res = undefined;
    this.#draining = undefined;
    const onLeft = this.#onLeft;
    this.#stopReceiving();
    this.#onLeft = never;
    onLeft();
  }

  #startClocks(res: HttpResponse, onTimeout: () => void): void {
    this.#clocks = new UploadClocks({
      timeout_ms: this.#limits.upload_timeout_ms,
      idle_ms: this.#limits.idle_ms,
      onTimeout,
      // resume() resets µWS's timeout, but restores what the last pause() saved: alone it would stop the socket.
      rearm: () => {
        res.pause();
        res.resume();
      },
    });
  }

  #stopReceiving(): void {
    this.#clocks?.stop();
    this.#clocks = undefined;
    this.#sink = never;
  }
}
