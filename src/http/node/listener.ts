import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type Connections, cannotListen, type ListenerOptions, type Listening, urlOf } from '../listening.ts';
import { packetsOf } from './packets.ts';
import { NodeWire, unclearPrefix, wiresOf } from './wire.ts';

/** The same timeout as µWS, and the interval of its check. */
const headersTimeout_ms = 10_000;
const check_ms = 2000;

/**
 * The same ciphers as with µWS, all with forward secrecy and authenticated encryption. Node has one list for
 * TLS 1.2 and 1.3.
 */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE+AESGCM',
  'ECDHE+CHACHA20',
].join(':');

export class NodeListener implements Listening {
  readonly port: number;
  readonly url: string;
  readonly connections: Connections;
  readonly #server: Server;

  private constructor(server: Server, options: ListenerOptions) {
    this.#server = server;
    this.connections = options.connections;
    this.port = (server.address() as AddressInfo).port;
    this.url = urlOf(options, this.port);
  }

  static async open(options: ListenerOptions): Promise<NodeListener> {
    const plain = {
      keepAliveTimeout: options.keep_alive_ms,
      headersTimeout: headersTimeout_ms,
      connectionsCheckingInterval: check_ms,
      // Bodies have separate timeouts (UploadClocks).
      requestTimeout: 0,
      insecureHTTPParser: false,
    };
    const server =
      options.certificate === undefined
        ? createServer(plain)
        : createTlsServer({ ...plain, ...secureContext(options), handshakeTimeout: headersTimeout_ms });
    await listen(server, options);
    return new NodeListener(server, options);
  }

  /** Bypasses the `close` of node:http, which would close idle connections whose next request may be on its way. */
  stopListening(): void {
    if (this.#server.listening) NetServer.prototype.close.call(this.#server);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function secureContext({ certificate }: ListenerOptions) {
  const { cert, key } = certificate!;
  return { cert: readFileSync(cert), key: readFileSync(key), ciphers, minVersion: 'TLSv1.2' } as const;
}

/** Installs all handlers on the server, and listens. */
async function listen(server: Server, options: ListenerOptions): Promise<void> {
  const { host, port, onFault, connections, makesRoom = false } = options;
  count(server, connections, makesRoom);
  serve(server, options, false);
  const again = createServer();
  serve(again, options, true);
  again.on('clientError', (error, socket) => reject(error, socket));
  server.on('clientError', (error, socket) => handleParseError(error, socket as Socket, again));
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw cannotListen(options, (error as NodeJS.ErrnoException).code);
  }
  server.on('error', onFault);
}

/** Passes every request of the server to `handle`. `unclear`: true if the end of the bodies is ambiguous. */
function serve(server: Server, { limits, handle, onFault }: ListenerOptions, unclear: boolean): void {
  // Unlimited, because Node would silently drop further headers. The size of the headers limits their number.
  server.maxHeadersCount = 0;
  const handleRequest: RequestListener = (req, res) => {
    const { socket } = req;
    withRequest.add(socket);
    // After a body with an ambiguous end, the bytes may not be a request of this client.
    if (ended.has(socket) || !hasRoom(socket, res)) return;
    if (hasTwoHosts(req)) {
      ended.add(socket);
      reject({}, socket);
      return;
    }
    try {
      const { exchange } = new NodeWire(req, res, limits, unclear);
      packetsOf(socket).countRequest(exchange.awaitsBody);
      if (exchange.awaitsBody) req.on('data', (chunk) => packetsOf(socket).body(chunk));
      if (exchange.request.framing === 'unclear') ended.add(socket);
      handle(exchange);
    } catch (error) {
      onFault(error);
      socket.destroy();
    }
  };
  server.on('request', handleRequest);
  // Node would send its own response to an unknown Expect header, without problem+json.
  server.on('checkExpectation', handleRequest);
  // Node would close the connection of a CONNECT without a response, and has removed its own error listener.
  server.on('connect', ({ socket }) => {
    socket.on('error', () => {});
    closeSoon(
      socket,
      'HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD, POST\r\nConnection: close\r\n\r\n',
    );
  });
}

/** Sockets on which a request was read. */
const withRequest = new WeakSet<Socket>();
/** Sockets whose further input is ignored. */
const ended = new WeakSet<Socket>();

/**
 * Requests with two Host headers get 400 (RFC 9112, section 3.2), because a proxy may have used the other one.
 * µWS rejects them too.
 */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length > 1;
}

/**
 * Maximum number of requests per connection that wait for their response. Each needs a few KiB of memory, and one
 * packet may contain a thousand requests.
 */
const maxPipelined = 32;

const pipelined = new WeakMap<Socket, number>();

/** Returns false and closes the connection if too many of its requests wait. µWS allows no waiting request. */
function hasRoom(socket: Socket, res: ServerResponse): boolean {
  const waiting = pipelined.get(socket) ?? 0;
  if (waiting >= maxPipelined) {
    socket.destroy();
    packetsOf(socket as Socket).endParser();
  }
  if (socket.destroyed) return false;
  pipelined.set(socket, waiting + 1);
  res.once('close', () => pipelined.set(socket, pipelined.get(socket)! - 1));
  return true;
}

/** Closes a connection if there are more than the limit: the oldest idle one or, if none is idle, the new one. */
function makeRoom(server: Server, connections: Connections): void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (sockets.size <= connections.limit) return;
    connections.rejected += 1;
    const idle = [...sockets].find((one) => wiresOf(one).size === 0) ?? socket;
    sockets.delete(idle);
    idle.destroy();
  });
}

function count(server: Server, connections: Connections, makesRoom: boolean): void {
  if (makesRoom) makeRoom(server, connections);
  else if (Number.isFinite(connections.limit)) server.maxConnections = connections.limit;
  server.on('drop', () => {
    connections.rejected += 1;
  });
  server.on('connection', (socket: Socket) => {
    connections.open += 1;
    socket.once('close', () => {
      connections.open -= 1;
    });
  });
  // node:https emits no secureConnection event for a failed handshake.
  server.on('tlsClientError', () => {
    connections.silent += 1;
  });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    // Without a `data` listener, node:http reads into memory that it keeps, including old bodies. With these two
    // listeners, each packet arrives here before and after the parser has read it.
    const packets = packetsOf(socket);
    socket.prependListener('data', (packet: Buffer) => packets.read(packet));
    socket.on('data', () => packets.done([...wiresOf(socket)].some(({ exchange }) => exchange.awaitsBody)));
    socket.once('close', () => {
      if (!withRequest.has(socket)) connections.silent += 1;
    });
  });
}

interface ParseError extends NodeJS.ErrnoException {
  rawPacket?: Buffer;
  bytesParsed?: number;
}

/** Parser errors after which the end of the body is ambiguous. */
const unclearCodes = [
  'HPE_UNEXPECTED_CONTENT_LENGTH',
  'HPE_INVALID_CONTENT_LENGTH',
  'HPE_INVALID_TRANSFER_ENCODING',
];

const nothing = Buffer.alloc(0);

const rejected = new WeakSet<Socket>();

/** Handles input that node:http could not parse. The parser also fails for all further input on the connection. */
function handleParseError(error: ParseError, socket: Socket, again: Server): void {
  if (rejected.has(socket)) return;
  rejected.add(socket);
  const wires = [...wiresOf(socket)];
  // The client has disconnected, or its headers did not arrive in time.
  if (!socket.writable || !error.code?.startsWith('HPE_')) {
    socket.destroy();
    return;
  }
  if (wires.length > 0) {
    // Deferred, so that data before the error, such as the end of a body, is delivered first.
    setImmediate(() => {
      for (const wire of wires) wire.endConnection();
    });
    return;
  }
  // A request that follows `Connection: close` gets no response (RFC 9112, section 9.6).
  if (error.code === 'HPE_CLOSED_CONNECTION') {
    closeSoon(socket);
    return;
  }
  const headerText = unclearCodes.includes(error.code)
    ? packetsOf(socket).faultyHeaders(error.rawPacket ?? nothing, error.bytesParsed ?? 0)
    : undefined;
  if (headerText === undefined) reject(error, socket);
  else {
    withRequest.add(socket);
    again.emit('connection', new Replay(socket, renamed(headerText)));
  }
}

function reject({ code }: Partial<ParseError>, socket: Duplex): void {
  const status = code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  closeSoon(socket, `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
}

/** Adds `unclearPrefix` to the names of the headers that define the end of the body. */
function renamed(text: string): string {
  const [headerText] = text.split('\r\n\r\n', 1);
  return `${headerText!.replaceAll(/\r\n(?=(?:content-length|transfer-encoding):)/gi, `\r\n${unclearPrefix}`)}\r\n\r\n`;
}

/** Maximum time for reading a connection after the last response, because a reset could discard the response. */
const linger_ms = 1000;

/** Closes a connection that node:http can no longer parse, after an optional last response. */
function closeSoon(socket: Duplex, last = ''): void {
  socket.end(last);
  const timer = setTimeout(() => socket.destroy(), linger_ms);
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Passes changed headers of a connection to a second node:http server, which responds on the same connection. The
 * first server rejected the headers, because the end of the body is ambiguous.
 */
class Replay extends Duplex {
  readonly #socket: Socket;
  readonly remoteAddress: string | undefined;

  constructor(socket: Socket, headerText: string) {
    super();
    this.#socket = socket;
    this.remoteAddress = socket.remoteAddress;
    this.push(headerText, 'latin1');
    socket.once('close', () => this.destroy());
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    closeSoon(this.#socket);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
