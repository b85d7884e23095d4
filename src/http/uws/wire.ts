import { STATUS_CODES } from 'node:http';
import {
  Exchange,
  type ExchangeLimits,
  isBodiless,
  type Reply,
  type ReplyMode,
  type Wire,
} from '../exchange.ts';
import { framingOf, HeaderFields, type Request, requestOf } from '../request.ts';
import { piece_bytes, type UnreadResponse, type UnreadResponses } from '../unread.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** Minimum size of a write that exceeds µWS's cork buffer of 16 KiB and is sent at once. */
const minUncorked_bytes = 16 * 1024 + 1;

const never = () => {};

/**
 * One exchange of µWS. Only this file uses µWS's request and response objects; docs/research/uws.md lists the
 * rules.
 */
export class UwsWire implements Wire {
  readonly exchange: Exchange;
  /** In mode `skip`, µWS itself discards the rest of the body. */
  readonly discards = ['drain'] as const;
  readonly #unread: UnreadResponses;
  /** True if µWS closes the connection after the response by itself. It then sends no Connection header. */
  readonly #isMarked: boolean;
  /** Undefined after the response or an abort, because µWS's object must not be used then. */
  #res: HttpResponse | undefined;
  #inCallback = true;
  /** True while µWS may still be reading the packet of the request, which may contain another request. */
  #inPacket = true;
  #sending: Sending | undefined;
  /** True if an interim response was written. µWS then regards the status as written. */
  #interim = false;
  /**
   * Number of events before the connection closes: the whole response is sent, and the rest of the body is
   * discarded.
   */
  #toCome = 2;

  /** Call it in µWS's request callback, and call `stay` at the end of the callback. */
  constructor(res: HttpResponse, req: HttpRequest, limits: ExchangeLimits) {
    this.exchange = new Exchange(copyRequest(res, req), this, limits);
    // uWebSockets src/HttpContext.h treats any value of five characters as `close`, and reads the first header of this
    // name.
    this.#isMarked = req.getHeader('connection').length === 5;
    this.#unread = limits.unread;
    this.#res = res;
  }

  /** µWS parses chunks leniently, so the bytes after a chunked body may not be a request of this client. */
  get isLast(): boolean {
    return this.exchange.request.framing === 'chunked';
  }

  /** Attaches the listeners of an unfinished exchange. Call it at the end of µWS's request callback. */
  stay(): void {
    this.#inCallback = false;
    const res = this.#res;
    if (res === undefined) return;
    // A response sent in a microtask is still within the packet.
    if (this.exchange.request.closes) setImmediate(() => this.#leavePacket());
    else this.#leavePacket();
    this.#listen(res);
    if (!this.exchange.awaitsBody) return;
    res.onData((chunk, last) => this.exchange.data(new Uint8Array(chunk), last));
    if (this.exchange.open && this.#waitsForContinue()) this.#continue(res);
  }

  send(reply: Reply, mode: ReplyMode): void {
    const res = this.#res!;
    const hasBody = this.exchange.request.method !== 'HEAD' && !isBodiless(reply.status);
    const size = Buffer.byteLength(reply.body);
    if (mode === 'cut') this.#sendAndCut(res, reply, hasBody);
    else if (mode === 'drain') this.#sendOpen(res, reply, hasBody, size);
    // µWS does not close the connection after headers without a body, or after a body that is not sent at once.
    // Documents are shared, so they cannot be padded.
    else if (mode === 'close' && (!hasBody || size > piece_bytes || typeof reply.body !== 'string')) {
      this.#toCome = 1;
      this.#sendOpen(res, reply, hasBody, size);
    } else this.#sendWhole(res, reply, hasBody, size, mode === 'close');
    if (mode !== 'drain') this.#res = undefined;
  }

  finish(): void {
    this.#closeWhenDone(this.#res!);
  }

  cut(): void {
    const res = this.#res;
    this.#res = undefined;
    res?.onAborted(never);
    res?.close();
  }

  /**
   * resume() restarts µWS's timeout. It also restores the state that the last pause() saved, so pause() must
   * precede it.
   */
  rearm(): void {
    this.#res?.pause();
    this.#res?.resume();
  }

  /**
   * Counts an event of `#toCome`, and closes the connection after the last. Closing earlier would reset the connection,
   * and clients would report the reset instead of the response (RFC 9112, section 9.6).
   */
  #closeWhenDone(res: HttpResponse): void {
    this.#toCome -= 1;
    if (this.#toCome === 0) closeSoon(res);
  }

  /**
   * Returns true for `100-continue` with upper-case letters, which µWS does not handle (RFC 9110,
   * section 10.1.1).
   */
  #waitsForContinue(): boolean {
    const expect = this.exchange.request.headers.get('expect');
    return expect !== undefined && expect !== '100-continue' && expect.toLowerCase() === '100-continue';
  }

  /** Sends 100 Continue. µWS has no function for it, but the first writeStatus of a response sends any text. */
  #continue(res: HttpResponse): void {
    this.#interim = true;
    res.writeStatus('100 Continue\r\n');
  }

  #writeHead(res: HttpResponse, { status, headers }: Reply): void {
    const line = `${status} ${STATUS_CODES[status] ?? ''}`;
    if (!this.#interim) res.writeStatus(line);
    // All headers are written in one call, because calls are slow. µWS accepts any text as the name of a header, so the
    // name contains the other headers, and after an interim response the status line.
    let headerText = this.#interim ? `HTTP/1.1 ${line}\r\n` : '';
    const last = headers.at(-1);
    if (last === undefined) return;
    for (const header of headers) if (header !== last) headerText += `${header[0]}: ${header[1]}\r\n`;
    res.writeHeader(headerText + last[0], last[1]);
  }

  /**
   * Sends a response with `tryEnd`, which reports whether the socket accepted it; the rest is sent when there is
   * room. µWS's `end` loses the body if the cork buffer cannot be written, and crashes the process without an abort
   * handler. `end` is used only for the last response of a connection.
   */
  #sendWhole(res: HttpResponse, reply: Reply, hasBody: boolean, size: number, close: boolean): void {
    this.#cork(res, () => {
      this.#writeHead(res, reply);
      if (!hasBody) {
        if (!isBodiless(reply.status)) res.writeHeader('Content-Length', String(size));
        // Without arguments, because with a length µWS waits for that many bytes of body.
        res.endWithoutBody();
        return;
      }
      this.#listen(res);
      if (close) this.#endLast(res, reply.body as string);
      else if (size > piece_bytes || !res.tryEnd(reply.body, size)[0]) {
        this.#sending = new Sending(res, reply.body, this.#unread);
      }
    });
  }

  /**
   * Sends the connection's last response. uWebSockets src/HttpResponse.h (internalEnd) closes the connection at once
   * only if nothing is corked, otherwise after the packet. Another request in the packet would then get a response
   * before the connection closes, which RFC 9112, section 9.6 forbids. So the body is padded beyond the cork buffer.
   */
  #endLast(res: HttpResponse, body: string): void {
    if (this.#isMarked) res.writeHeader('Connection', 'close');
    res.end(this.#inPacket ? body.padEnd(minUncorked_bytes) : body, true);
  }

  #leavePacket(): void {
    this.#inPacket = false;
  }

  /** Sends the connection's last response and leaves the connection open. µWS has no function for this. */
  #sendOpen(res: HttpResponse, reply: Reply, hasBody: boolean, size: number): void {
    this.#listen(res);
    this.#cork(res, () => {
      this.#writeHead(res, reply);
      const onSent = () => this.#closeWhenDone(res);
      if (hasBody && size > 0) {
        res.writeHeader('Connection', 'close');
        this.#sending = new Sending(res, reply.body, this.#unread, onSent);
        return;
      }
      res.writeHeader('Date', new Date().toUTCString());
      if (!isBodiless(reply.status)) res.writeHeader('Content-Length', String(size));
      // writeHeader sends any text, so the additional line break ends the headers.
      res.writeHeader('Connection', 'close\r\n');
      onSent();
    });
  }

  #listen(res: HttpResponse): void {
    res.onAborted(() => {
      this.#sending?.over();
      this.#res = undefined;
      this.exchange.left();
    });
  }

  /**
   * Sends a problem and closes the connection. µWS drops its cork buffer when it closes, so the response is padded to
   * exceed the buffer. writeHeader sends any text, so the value of the last header contains the body. The CRLF that
   * µWS appends counts as the last two bytes of the body.
   */
  #sendAndCut(res: HttpResponse, reply: Reply, hasBody: boolean): void {
    res.onAborted(never);
    const text = hasBody ? reply.body.toString().padEnd(minUncorked_bytes) : '';
    this.#cork(res, () => {
      this.#writeHead(res, reply);
      res.writeHeader('Date', new Date().toUTCString());
      res.writeHeader('Connection', 'close');
      res.writeHeader('Content-Length', `${Buffer.byteLength(text) + 2}\r\n\r\n${text}`);
    });
    res.close();
  }

  /** Sends all output of `write` in one packet. In the request callback, µWS does this itself. */
  #cork(res: HttpResponse, write: () => void): void {
    if (this.#inCallback) write();
    else res.cork(write);
  }
}

/**
 * Closes the connection in a later turn. If it is closed between two chunks of one packet, µWS continues to read the
 * packet, and drops its cork buffer.
 */
function closeSoon(res: HttpResponse): void {
  let open = true;
  res.onAborted(() => {
    open = false;
  });
  setImmediate(() => {
    if (open) res.close();
  });
}

/** A response body that is being sent in pieces, so that µWS does not copy it. */
class Sending implements UnreadResponse {
  readonly held_bytes: number;
  readonly #body: Buffer;
  readonly #unread: UnreadResponses;
  /** Undefined after the body is sent or the connection has ended, because µWS's object must not be used then. */
  #res: HttpResponse | undefined;
  #sent: number;
  /** If defined, the response stays open, and this function is called when the body is sent. */
  readonly #onSent: (() => void) | undefined;

  /**
   * Sends as much as the socket accepts. The headers must have been written in the same cork, and the response needs
   * an abort handler that calls `over`.
   */
  constructor(res: HttpResponse, body: string | Buffer, unread: UnreadResponses, onSent?: () => void) {
    this.#res = res;
    this.#body = typeof body === 'string' ? Buffer.from(body) : body;
    this.held_bytes = typeof body === 'string' ? this.#body.length : 0;
    this.#unread = unread;
    this.#onSent = onSent;
    // A previous tryEnd may have sent a part of a short body.
    this.#sent = res.getWriteOffset();
    this.#send();
    if (this.#res === undefined) return;
    res.onWritable(() => {
      this.push();
      return this.#res === undefined;
    });
    unread.add(this, this.#sent);
  }

  push(): number {
    this.#res?.cork(() => this.#send());
    return this.#sent;
  }

  /**
   * Sends pieces as long as the socket accepts them. The first call of tryEnd sends its total size as Content-Length,
   * and every call ends the response once its total has been sent (uWebSockets src/HttpResponse.h, internalEnd). For
   * a response that stays open, the first call therefore omits the last byte, and later calls pass a total that is
   * never reached.
   */
  #send(): void {
    const size = this.#body.length;
    const stays = this.#onSent !== undefined;
    const neverReached = size + 1;
    for (let ok = true; ok && this.#res !== undefined; ) {
      const from = this.#sent;
      const isFirst = from === 0;
      const to = Math.min(from + piece_bytes, stays && isFirst ? size - 1 : size);
      const total = stays && !isFirst ? neverReached : size;
      const [written, done] = this.#res.tryEnd(this.#body.subarray(from, to), total);
      ok = written;
      this.#sent = done ? size : this.#res.getWriteOffset();
      if (this.#sent < size) continue;
      this.over();
      this.#onSent?.();
    }
  }

  giveUp(): void {
    const res = this.#res;
    this.over();
    res?.close();
  }

  /** Call it when the connection has ended or the body is sent. */
  over(): void {
    this.#res = undefined;
    this.#unread.delete(this);
  }
}

/** Copies the request, because µWS's object is valid only in the request callback. */
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

/** Formats an IP address of 4 or 16 bytes, faster than µWS. Returns '' for any other peer, such as a Unix socket. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) return '';
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  return groups.map((group) => group.toString(16)).join(':');
}
