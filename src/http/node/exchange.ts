import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Exchange, type ExchangeLimits, type Headers, isBodiless, type Reply } from '../exchange.ts';
import { framingOf, HeaderFields, type Request, requestOf } from '../request.ts';
import { piece_bytes, type UnreadAnswer, type UnreadAnswers } from '../unread.ts';

/** How long the rest of a request that could not be read is discarded before its connection is ended. */
const discard_ms = 1000;

const nothing = Buffer.alloc(0);

export class NodeExchange extends Exchange {
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  #state: 'open' | 'draining' | 'over' = 'open';
  #last = false;

  /** Call inside the listener of `request`. */
  constructor(req: IncomingMessage, res: ServerResponse, limits: ExchangeLimits) {
    super(readRequest(req), limits);
    this.#res = res;
    this.#socket = req.socket;
    if (!this.arrived) {
      req.on('data', (chunk) => this.data(chunk, false));
      req.on('end', () => this.data(nothing, true));
    }
    exchangesOf(req.socket).add(this);
  }

  override get open(): boolean {
    return this.#state === 'open';
  }

  abandon(): void {
    this.#state = 'over';
    this.left();
  }

  /** Call it when node:http can read no more of the connection: this is answered, and is the last. */
  endConnection(): void {
    this.#last = true;
    if (!this.arrived) this.endUnclear();
  }

  protected override answer(reply: Reply, close: boolean): void {
    const res = this.#res;
    const bytes = bodyOf(reply, this.request.method);
    if (this.broken) {
      this.#over();
      endWith(this.#socket, reply.status, rawHead(reply, [['Connection', 'close']]), bytes);
      return;
    }
    const closes = close || this.#last;
    const keeps = this.arrived ? !closes && !this.request.closes : this.skips(closes);
    res.writeHead(reply.status, rawHead(reply, keeps ? [] : [['Connection', 'close']]));
    if (this.arrived) {
      this.#end(bytes);
      return;
    }
    this.#state = 'draining';
    if (keeps) {
      this.#end(bytes);
      this.drain((whole) => (whole ? this.#over() : this.#socket.destroy()));
      return;
    }
    // Ended now, Node would close the connection and the kernel send a reset, which clients report instead of the answer. So the
    // rest of the body is discarded first (RFC 9112 section 9.6).
    const sending = new Sending(res, this.#socket, bytes, this.unread, false);
    this.drain(() => {
      this.#over();
      sending.end();
    });
  }

  protected override drop(): void {
    this.#over();
    this.#socket.destroy();
  }

  #end(bytes: string | Buffer): void {
    if (this.arrived || this.#state === 'open') this.#over();
    new Sending(this.#res, this.#socket, bytes, this.unread, true);
  }

  #over(): void {
    this.#state = 'over';
    exchangesOf(this.#socket).delete(this);
  }
}

/** A body on its way to its client, a long one in pieces: TLS would copy all of it. */
class Sending implements UnreadAnswer {
  readonly held_bytes: number;
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  readonly #body: string | Buffer;
  readonly #unread: UnreadAnswers;
  #handed = 0;
  #ends: boolean;

  /** `ends`: with its last byte; otherwise the response stays open until `end`. */
  constructor(
    res: ServerResponse,
    socket: Socket,
    body: string | Buffer,
    unread: UnreadAnswers,
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

  /** All that the kernel has taken of this connection, also of answers before this one. Node does not tell those behind that it has ended. */
  push(): number {
    if (this.#taken || this.#socket.destroyed) this.#unread.delete(this);
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  giveUp(): void {
    this.#socket.destroy();
  }

  /** Whether the kernel has all of it. */
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

/** Where a body could end in two places, node:http ends the connection without an answer, so it is written by hand. */
export class UnclearExchange extends Exchange {
  readonly #socket: Socket;
  #open = true;

  constructor(request: Request, socket: Socket, limits: ExchangeLimits) {
    super(request, limits);
    this.#socket = socket;
    socket.once('close', () => this.abandon());
  }

  override get open(): boolean {
    return this.#open;
  }

  abandon(): void {
    if (!this.#open) return;
    this.#open = false;
    this.left();
  }

  protected override answer(reply: Reply): void {
    this.#open = false;
    const bytes = bodyOf(reply, this.request.method);
    const head = rawHead(reply, [
      ['Date', new Date().toUTCString()],
      ['Connection', 'close'],
    ]);
    endWith(this.#socket, reply.status, head, bytes);
  }

  protected override drop(): void {
    this.#socket.destroy();
  }
}

/** Writes an answer past node:http, and ends the connection. */
export function endWith(
  socket: Socket,
  status: number,
  head: readonly string[],
  body: string | Buffer,
): void {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`];
  for (let at = 0; at < head.length; at += 2) lines.push(`${head[at]}: ${head[at + 1]}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  socket.write(body);
  endSoon(socket);
}

/** Ends a connection that node:http cannot read any more. It is read for a while, because a reset would discard an answer. */
export function endSoon(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), discard_ms);
  socket.once('close', () => clearTimeout(timer));
}

const openExchanges = new WeakMap<Socket, Set<NodeExchange>>();

/** The exchanges of a connection that are not over. When it ends, they are abandoned; those that wait behind others as well. */
export function exchangesOf(socket: Socket): Set<NodeExchange> {
  const known = openExchanges.get(socket);
  if (known !== undefined) return known;
  const exchanges = new Set<NodeExchange>();
  openExchanges.set(socket, exchanges);
  socket.once('close', () => {
    for (const exchange of exchanges) exchange.abandon();
    exchanges.clear();
  });
  return exchanges;
}

/** What an answer to HEAD, or one that must not have a body, sends of it. */
function bodyOf({ status, body }: Reply, method: string): string | Buffer {
  return method === 'HEAD' || isBodiless(status) ? '' : body;
}

function rawHead({ status, headers, body }: Reply, further: Headers): string[] {
  const head = [...headers, ...further].flat();
  if (!isBodiless(status)) head.push('Content-Length', String(Buffer.byteLength(body)));
  return head;
}

function readRequest({ method, url, rawHeaders, httpVersionMinor, socket }: IncomingMessage): Request {
  const fields = new HeaderFields();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    fields.add(rawHeaders[at]!.toLowerCase(), rawHeaders[at + 1]!);
  }
  // HTTP/1.0 knows no transfer coding (RFC 9112 section 6.1).
  const unclear = httpVersionMinor === 0 && fields.headers.has('transfer-encoding');
  const framing = unclear ? 'unclear' : framingOf(fields.headers);
  return requestOf(method!, url!, fields, framing, socket.remoteAddress ?? '');
}

/**
 * The head of a request that node:http does not read because its body could end in two places. `packet`: the bytes in which that
 * was seen, up to `seen` and beyond. Undefined when the head did not come in one packet.
 */
export function readUnclear(packet: Buffer, seen: number, peer = ''): Request | undefined {
  const text = packet.toString('latin1');
  // An empty length is seen only at the end of its head, which is not the one before it.
  const start = text.lastIndexOf('\r\n\r\n', seen - 5);
  const [first = '', ...lines] = text
    .slice(start < 0 ? 0 : start + 4)
    .split('\r\n\r\n', 1)[0]!
    .split('\r\n');
  const [, method, target] = /^([A-Z]+) (\/\S*) HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined) return undefined;
  const fields = new HeaderFields();
  for (const line of lines) {
    const [, name, value] = /^([^\s:]+):[\t ]*(.*?)[\t ]*$/.exec(line) ?? [];
    if (name !== undefined) fields.add(name.toLowerCase(), value!);
  }
  return requestOf(method, target!, fields, 'unclear', peer);
}
