import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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

const nothing = Buffer.alloc(0);

export class NodeWire implements Wire {
  readonly exchange: Exchange;
  isLast = false;
  readonly discards = ['skip', 'drain', 'cut'] as const;
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  readonly #unread: UnreadResponses;
  #sending: Sending | undefined;
  #isKept = false;

  /**
   * Call it in the `request` listener. `unclear`: true if the headers that define the end of the body have
   * `unclearPrefix`.
   */
  constructor(req: IncomingMessage, res: ServerResponse, limits: ExchangeLimits, unclear = false) {
    this.#res = res;
    this.#socket = req.socket;
    this.#unread = limits.unread;
    const exchange = new Exchange(readRequest(req, unclear), this, limits);
    this.exchange = exchange;
    if (exchange.awaitsBody) {
      req.on('data', (chunk) => exchange.data(chunk, false));
      req.on('end', () => exchange.data(nothing, true));
    }
    const exchanges = wiresOf(req.socket);
    exchanges.add(this);
    exchange.onOver(() => exchanges.delete(this));
  }

  /** Call it if node:http can no longer parse the connection. */
  endConnection(): void {
    this.isLast = true;
    this.exchange.endUnclear();
  }

  /** In modes `drain` and `cut` the response stays open, because Node closes the connection when the response ends. */
  send(reply: Reply, mode: ReplyMode): void {
    const { status, headers, body } = reply;
    this.#isKept = mode === 'keep' || mode === 'skip';
    const rawHeaders = headers.flat();
    if (!isBodiless(status)) rawHeaders.push('Content-Length', String(Buffer.byteLength(body)));
    if (!this.#isKept) rawHeaders.push('Connection', 'close');
    this.#res.writeHead(status, rawHeaders);
    const sent = this.exchange.request.method === 'HEAD' || isBodiless(status) ? '' : body;
    this.#sending = new Sending(
      this.#res,
      this.#socket,
      sent,
      this.#unread,
      this.#isKept || mode === 'close',
    );
  }

  finish(whole: boolean): void {
    if (!this.#isKept) this.#sending?.end();
    else if (!whole) this.#socket.destroy();
  }

  cut(): void {
    this.#socket.destroy();
  }

  /** node:http has no timeout for a body. */
  rearm(): void {}
}

/** A response body that is being sent. A long body is sent in pieces, because TLS would copy all of it. */
class Sending implements UnreadResponse {
  readonly held_bytes: number;
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  readonly #body: string | Buffer;
  readonly #unread: UnreadResponses;
  /** Number of bytes, or characters of a string, that were passed to Node. */
  #handed = 0;
  #ends: boolean;

  /** `ends`: true if the response ends with the body; otherwise it stays open until `end`. */
  constructor(
    res: ServerResponse,
    socket: Socket,
    body: string | Buffer,
    unread: UnreadResponses,
    ends: boolean,
  ) {
    this.#res = res;
    this.#socket = socket;
    this.#body = typeof body === 'string' && body.length > piece_bytes ? Buffer.from(body) : body;
    this.held_bytes = typeof body === 'string' ? Buffer.byteLength(body) : 0;
    this.#unread = unread;
    this.#ends = ends;
    if (body.length === 0 && !ends) res.flushHeaders();
    else this.#hand();
    if (this.#taken) return;
    res.on('drain', () => this.#hand());
    for (const event of ['finish', 'close']) res.once(event, () => unread.delete(this));
    unread.add(this, this.push());
  }

  end(): void {
    this.#ends = true;
    this.#hand();
  }

  /**
   * Returns the number of bytes that the kernel has accepted on this connection, including earlier responses. Also
   * removes a response whose connection has ended, because Node emits no event for a response that still waits.
   */
  push(): number {
    if (this.#taken || this.#socket.destroyed) this.#unread.delete(this);
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  giveUp(): void {
    this.#socket.destroy();
  }

  get #taken(): boolean {
    return (
      this.#handed === this.#body.length && this.#res.socket !== null && this.#socket.writableLength === 0
    );
  }

  #hand(): void {
    const [res, body] = [this.#res, this.#body];
    if (typeof body === 'string') {
      const rest = body.slice(this.#handed);
      this.#handed = body.length;
      if (this.#ends) res.end(rest);
      else res.write(rest);
      return;
    }
    while (this.#handed < body.length) {
      const piece = body.subarray(this.#handed, this.#handed + piece_bytes);
      this.#handed += piece.length;
      if (!res.write(piece)) return;
    }
    if (this.#ends) res.end();
  }
}

/** Prefix for header names, so that node:http accepts headers with an ambiguous end of the body. */
export const unclearPrefix = 'unclear-';

const openWires = new WeakMap<Socket, Set<NodeWire>>();

/**
 * Returns the wires of a connection whose exchanges are not over, including waiting ones. When the connection ends,
 * all of them end.
 */
export function wiresOf(socket: Socket): Set<NodeWire> {
  const known = openWires.get(socket);
  if (known !== undefined) return known;
  const wires = new Set<NodeWire>();
  openWires.set(socket, wires);
  socket.once('close', () => {
    for (const { exchange } of wires) exchange.left();
  });
  return wires;
}

function readRequest(
  { method, url, rawHeaders, httpVersionMinor, socket }: IncomingMessage,
  unclear: boolean,
): Request {
  const fields = new HeaderFields();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    fields.add(
      unclear && name.startsWith(unclearPrefix) ? name.slice(unclearPrefix.length) : name,
      rawHeaders[at + 1]!,
    );
  }
  // HTTP/1.0 has no transfer codings (RFC 9112, section 6.1).
  const isUnclear = unclear || (httpVersionMinor === 0 && fields.headers.has('transfer-encoding'));
  const framing = isUnclear ? 'unclear' : framingOf(fields.headers);
  return requestOf(method!, url!, fields, framing, socket.remoteAddress ?? '');
}
