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

/** A write larger than µWS's cork buffer of 16 KiB goes to the socket at once. */
const beyondCork_bytes = 16 * 1024 + 1;

const never = () => {};

/** One exchange of µWS. Only this file uses its request and response; docs/research/uws.md lists the rules for that. */
export class UwsWire implements Wire {
  readonly exchange: Exchange;
  /** µWS skips a short rest without help. */
  readonly discards = ['drain'] as const;
  readonly #unread: UnreadResponses;
  /** µWS ends the connection after the response, and then sends no Connection header itself. */
  readonly #isMarked: boolean;
  /** Undefined once replied or aborted: µWS's object must not be used after that. */
  #res: HttpResponse | undefined;
  #inCallback = true;
  /** µWS may still be reading the packet of the request, and would respond to another one in it. */
  #inPacket = true;
  #sending: Sending | undefined;
  /** An interim response was written, so µWS considers the status written. */
  #interim = false;
  /**
   * Conditions for closing the connection: the whole response is sent, and the rest of the body discarded.
   */
  #toCome = 2;

  /** Call it inside µWS's request callback, and `stay` before that returns. */
  constructor(res: HttpResponse, req: HttpRequest, limits: ExchangeLimits) {
    this.exchange = new Exchange(copyRequest(res, req), this, limits);
    // uWebSockets src/HttpContext.h takes any value of five characters for `close`, and reads the first field
    // of this name.
    this.#isMarked = req.getHeader('connection').length === 5;
    this.#unread = limits.unread;
    this.#res = res;
  }

  /** µWS reads chunks leniently, so bytes after such a body may not be a request of this client. */
  get isLast(): boolean {
    return this.exchange.request.framing === 'chunked';
  }

  /**
   * Call it at the end of µWS's request callback: attaches the listeners that an unfinished exchange needs.
   */
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
    // µWS does not close the connection after headers alone, or after a body that is not sent at once. A
    // document cannot be padded.
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
   * resume() resets µWS's timeout but restores the state saved by the last pause(): alone it would stop the
   * socket.
   */
  rearm(): void {
    this.#res?.pause();
    this.#res?.resume();
  }

  /**
   * Closing earlier would reset the connection, and clients would report that instead of the response (RFC
   * 9112 section 9.6).
   */
  #closeWhenDone(res: HttpResponse): void {
    this.#toCome -= 1;
    if (this.#toCome === 0) closeSoon(res);
  }

  /** µWS itself handles `100-continue` in lower case only (RFC 9110 section 10.1.1: any case). */
  #waitsForContinue(): boolean {
    const expect = this.exchange.request.headers.get('expect');
    return expect !== undefined && expect !== '100-continue' && expect.toLowerCase() === '100-continue';
  }

  /**
   * µWS has no JavaScript call for this. Its writeStatus sends any text, but only the first one of a
   * response.
   */
  #continue(res: HttpResponse): void {
    this.#interim = true;
    res.writeStatus('100 Continue\r\n');
  }

  #writeHead(res: HttpResponse, { status, headers }: Reply): void {
    const line = `${status} ${STATUS_CODES[status] ?? ''}`;
    if (!this.#interim) res.writeStatus(line);
    // All headers are written in one call, because each call costs as much as its text, and a name may be any
    // text. The first also carries the status line.
    let headerText = this.#interim ? `HTTP/1.1 ${line}\r\n` : '';
    const last = headers.at(-1);
    if (last === undefined) return;
    for (const header of headers) if (header !== last) headerText += `${header[0]}: ${header[1]}\r\n`;
    res.writeHeader(headerText + last[0], last[1]);
  }

  /**
   * `end` of µWS loses the body if its cork buffer cannot be written, and ends the process unless there is an
   * abort handler. `tryEnd` reports it, and the rest is sent when there is room. A client that does not read
   * may miss a short body that is the last.
   */
  #sendWhole(res: HttpResponse, reply: Reply, hasBody: boolean, size: number, close: boolean): void {
    this.#cork(res, () => {
      this.#writeHead(res, reply);
      if (!hasBody) {
        if (!isBodiless(reply.status)) res.writeHeader('Content-Length', String(size));
        // Called without arguments: given a length, µWS waits for that many bytes of body.
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
   * Sends the connection's last response. uWebSockets src/HttpResponse.h (internalEnd) closes the connection
   * at once only if nothing is corked, otherwise after the packet: a request behind this one would get its
   * response first, which RFC 9112 section 9.6 forbids. So within the packet the body is padded beyond the
   * cork buffer.
   */
  #endLast(res: HttpResponse, body: string): void {
    if (this.#isMarked) res.writeHeader('Connection', 'close');
    res.end(this.#inPacket ? body.padEnd(beyondCork_bytes) : body, true);
  }

  #leavePacket(): void {
    this.#inPacket = false;
  }

  /** Sends the connection's last response and leaves it open, for which µWS has no call. */
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
      // writeHeader sends any text, so this ends the headers.
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
   * µWS drops its buffer when it closes such a connection, so the response, a problem, is padded to be larger
   * than the buffer. writeHeader sends any text, so the value of the last header carries the body; the CRLF
   * that µWS appends counts as its last two bytes.
   */
  #sendAndCut(res: HttpResponse, reply: Reply, hasBody: boolean): void {
    res.onAborted(never);
    const text = hasBody ? reply.body.toString().padEnd(beyondCork_bytes) : '';
    this.#cork(res, () => {
      this.#writeHead(res, reply);
      res.writeHeader('Date', new Date().toUTCString());
      res.writeHeader('Connection', 'close');
      res.writeHeader('Content-Length', `${Buffer.byteLength(text) + 2}\r\n\r\n${text}`);
    });
    res.close();
  }

  /**
   * Puts everything that `write` writes into one packet; inside the request callback µWS does that itself.
   */
  #cork(res: HttpResponse, write: () => void): void {
    if (this.#inCallback) write();
    else res.cork(write);
  }
}

/**
 * Closing at once would fail: µWS continues to read a connection that is closed between two chunks of one
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

/** A body that is being sent, in pieces, so that µWS copies nothing of it. */
class Sending implements UnreadResponse {
  readonly held_bytes: number;
  readonly #body: Buffer;
  readonly #unread: UnreadResponses;
  /** Undefined once it is sent or the connection has ended: µWS's object must not be used after that. */
  #res: HttpResponse | undefined;
  #sent: number;
  /** If set, the response stays open, and this is called when everything is sent. */
  readonly #onSent: (() => void) | undefined;

  /**
   * Sends as much as fits; the headers were written in the same cork. The response needs an abort handler
   * that calls `over`.
   */
  constructor(res: HttpResponse, body: string | Buffer, unread: UnreadResponses, onSent?: () => void) {
    this.#res = res;
    this.#body = typeof body === 'string' ? Buffer.from(body) : body;
    this.held_bytes = typeof body === 'string' ? this.#body.length : 0;
    this.#unread = unread;
    this.#onSent = onSent;
    // A part of a short body may have been sent.
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
   * uWebSockets src/HttpResponse.h, internalEnd(): the first call of tryEnd sends its total as
   * Content-Length, and every call ends the response once as many bytes as its own total have been sent. So
   * for a response that stays open, the first call, whose total is the true one, keeps the last byte back,
   * and all later calls give a total that is never reached.
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

  /** The connection has ended, or everything is sent. */
  over(): void {
    this.#res = undefined;
    this.#unread.delete(this);
  }
}

/** Copies the headers, because µWS's own are valid only inside its callback. */
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

/**
 * Formats an IP address of 4 or 16 bytes; '' for anything else, such as a Unix socket. µWS's own conversion
 * is slower.
 */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) return '';
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  return groups.map((group) => group.toString(16)).join(':');
}
