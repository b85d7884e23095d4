import { STATUS_CODES } from 'node:http';
import { Exchange, type ExchangeLimits, isBodiless, type Reply } from '../exchange.ts';
import { framingOf, HeaderFields, type Request, requestOf } from '../request.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** A write that is larger than µWS's cork buffer of 16 KiB goes to the socket at once. */
const beyondCork_bytes = 16 * 1024 + 1;

const never = () => {};

/** An exchange of µWS. Only this file uses its request and response; docs/uws-lifecycle.md lists the rules for that. */
export class UwsExchange extends Exchange {
  /** undefined once answered or aborted: µWS's object must not be used after that. */
  #res: HttpResponse | undefined;
  #writing: HttpResponse | undefined;
  /** Answered, while the rest of the body is discarded. */
  #draining: HttpResponse | undefined;
  #inCallback = true;
  /** An interim response was written, so µWS takes the status as written. */
  #interim = false;

  /** Call inside µWS's request callback, and `stay` before that returns. */
  constructor(res: HttpResponse, req: HttpRequest, limits: ExchangeLimits) {
    super(copyRequest(res, req), limits);
    this.#res = res;
  }

  override get open(): boolean {
    return this.#res !== undefined;
  }

  /** Call at the end of µWS's request callback: attaches the listeners that an unfinished exchange needs. */
  stay(): void {
    this.#inCallback = false;
    const res = this.#res ?? this.#draining;
    if (res === undefined) return;
    res.onAborted(() => {
      this.#res = undefined;
      this.#draining = undefined;
      this.left();
    });
    if (this.arrived) return;
    res.onData((chunk, last) => this.data(new Uint8Array(chunk), last));
    if (this.#res !== undefined && this.#waitsForContinue()) this.#continue(res);
  }

  protected override answer(reply: Reply, close: boolean): void {
    const res = this.#res!;
    // µWS reads chunks leniently, so what follows such a body may be no request of this client's.
    const last = close || this.request.framing === 'chunked';
    this.#writing = res;
    if (this.request.framing === 'unclear') this.#answerAndClose(res, reply);
    else if (this.arrived || this.skips(last)) this.#answer(res, reply, last);
    else this.#answerAndDrain(res, reply);
    this.#writing = undefined;
  }

  /** µWS itself answers `100-continue` in lower case only (RFC 9110 section 10.1.1: any case). */
  #waitsForContinue(): boolean {
    const expect = this.request.headers.get('expect');
    return expect !== undefined && expect !== '100-continue' && expect.toLowerCase() === '100-continue';
  }

  /** µWS has no call for this in JavaScript. Its writeStatus sends any text, but only the first one of a response. */
  #continue(res: HttpResponse): void {
    this.#interim = true;
    res.writeStatus('100 Continue\r\n');
  }

  #writeHead(res: HttpResponse, { status, headers }: Reply): void {
    const line = `${status} ${STATUS_CODES[status] ?? ''}`;
    if (!this.#interim) res.writeStatus(line);
    // The first header's name carries the status line.
    let before = this.#interim ? `HTTP/1.1 ${line}\r\n` : '';
    for (const [name, value] of headers) {
      res.writeHeader(before + name, value);
      before = '';
    }
  }

  protected override drop(): void {
    const res = this.#writing;
    this.#res = undefined;
    this.#draining = undefined;
    res?.onAborted(never);
    res?.close();
  }

  /** resume() resets µWS's timeout, but restores what the last pause() saved: alone it would stop the socket. */
  protected override rearm(): void {
    const res = this.#res ?? this.#draining;
    res?.pause();
    res?.resume();
  }

  #answer(res: HttpResponse, reply: Reply, close: boolean): void {
    const { status, body } = reply;
    this.#res = undefined;
    const bodiless = isBodiless(status);
    this.#cork(res, () => {
      this.#writeHead(res, reply);
      if (this.request.method !== 'HEAD' && !bodiless) {
        this.#end(res, body, close);
        return;
      }
      if (!bodiless) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
      if (close) res.writeHeader('Connection', 'close');
      // Without arguments: with a length, µWS waits for that many bytes of body.
      res.endWithoutBody();
    });
  }

  /**
   * `end` of µWS loses the body when its cork buffer cannot be written, and ends the process unless there is an abort handler. `tryEnd` reports
   * it, and the rest is sent when there is room. Only `end` can close the connection, so a client that does not read may miss the last body.
   */
  #end(res: HttpResponse, body: string | Buffer, close: boolean): void {
    res.onAborted(never);
    if (close) {
      res.end(body, close);
      return;
    }
    const size = Buffer.byteLength(body);
    if (res.tryEnd(body, size)[0]) return;
    const bytes = Buffer.from(body as string);
    res.onWritable((offset) => res.tryEnd(bytes.subarray(offset), size)[0]);
  }

  /** Closing now would reset the connection, and clients report that instead of the answer (RFC 9112 section 9.6). */
  #answerAndDrain(res: HttpResponse, reply: Reply): void {
    this.#writeWhole(res, reply, 0);
    this.#res = undefined;
    this.#draining = res;
    this.drain(() => {
      // Not at once: µWS goes on reading from a connection that is closed between two chunks of one packet.
      setImmediate(() => {
        this.#draining?.close();
        this.#draining = undefined;
      });
    });
  }

  /** µWS drops its buffer when it closes such a connection, so the answer is padded to be larger than the buffer. */
  #answerAndClose(res: HttpResponse, reply: Reply): void {
    this.#res = undefined;
    res.onAborted(never);
    this.#writeWhole(res, reply, beyondCork_bytes);
    res.close();
  }

  /**
   * Writes a complete answer and leaves the exchange open, for which µWS has no call. Its writeHeader sends any text, so the value of the
   * last header carries the body.
   */
  #writeWhole(res: HttpResponse, reply: Reply, min_bytes: number): void {
    // writeHeader adds CRLF after its value. JSON and text may end with it; it is counted below.
    const text = this.request.method === 'HEAD' ? '' : reply.body.toString().padEnd(min_bytes);
    const length = Buffer.byteLength(text) + 2;
    this.#cork(res, () => {
      this.#writeHead(res, reply);
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
}

/** Copies the head: µWS's own is valid only inside its callback. */
function copyRequest(res: HttpResponse, req: HttpRequest): Request {
  const fields = new HeaderFields();
  req.forEach((name, value) => {
    fields.add(name, value);
  });
  const query = req.getQuery();
  const target = query === undefined ? req.getUrl() : `${req.getUrl()}?${query}`;
  const peer = addressText(new Uint8Array(res.getRemoteAddress()));
  return requestOf(req.getCaseSensitiveMethod(), target, fields, framingOf(fields.headers), peer);
}

/** An IP address of 4 or 16 bytes as text, '' for anything else, such as a Unix socket; µWS's own text is slower. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) return '';
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  return groups.map((group) => group.toString(16)).join(':');
}
