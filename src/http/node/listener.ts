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

/** The same timeouts as µWS. */
const headersTimeout_ms = 10_000;
const check_ms = 2000;

/**
 * The same ciphers as with µWS: forward secrecy and authenticated encryption only. Node lists the ciphers of
 * TLS 1.3 together with those of 1.2.
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

  /**
   * Bypasses the `close` of node:http, which would end idle connections although their next request may be on
   * its way.
   */
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

/** Makes the server pass every request to `handle`, and listens. */
async function listen(server: Server, options: ListenerOptions): Promise<void> {
  const { host, port, onFault, connections, makesRoom = false } = options;
  count(server, connections, makesRoom);
  serve(server, options, false);
  const again = createServer();
  serve(again, options, true);
  again.on('clientError', (error, socket) => reject(error, socket));
  server.on('clientError', (error, socket) => hearFault(error, socket as Socket, again));
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw cannotListen(options, (error as NodeJS.ErrnoException).code);
  }
  server.on('error', onFault);
}

/** `unclear`: the end of its requests' bodies is ambiguous. */
function serve(server: Server, { limits, handle, onFault }: ListenerOptions, unclear: boolean): void {
  // The size of the headers already limits their number; Node would drop the others silently.
  server.maxHeadersCount = 0;
  const handleRequest: RequestListener = (req, res) => {
    const { socket } = req;
    heard.add(socket);
    // Bytes after a body with an ambiguous end may not be a request of this client.
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
  // Node does not know the expectation, and would respond without problem+json.
  server.on('checkExpectation', handleRequest);
  // Node would close the connection without a response, and no longer listens for its errors.
  server.on('connect', ({ socket }) => {
    socket.on('error', () => {});
    closeSoon(
      socket,
      'HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD, POST\r\nConnection: close\r\n\r\n',
    );
  });
}

const heard = new WeakSet<Socket>();
const ended = new WeakSet<Socket>();

/** RFC 9112 section 3.2: 400. µWS rejects it too, because a proxy may have read the other one. */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length > 1;
}

/**
 * Maximum number of requests per connection whose responses are not sent: each takes some KiB, and the kernel
 * delivers a thousand at once.
 */
const maxPipelined = 32;

const pipelined = new WeakMap<Socket, number>();

/**
 * Returns false and closes the connection if too many of its requests wait. µWS closes it at the first one
 * that has to wait.
 */
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

/** Beyond the limit, closes the oldest idle connection, or the new one if none is idle. */
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
  // A failed handshake never becomes a connection of node:https.
  server.on('tlsClientError', () => {
    connections.silent += 1;
  });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    // Without this listener node:http reads into memory that it keeps, with the last bodies, and returns
    // copies. With it, each packet arrives here before and after its parser has read it.
    const packets = packetsOf(socket);
    socket.prependListener('data', (packet: Buffer) => packets.read(packet));
    socket.on('data', () => packets.done([...wiresOf(socket)].some(({ exchange }) => exchange.awaitsBody)));
    socket.once('close', () => {
      if (!heard.has(socket)) connections.silent += 1;
    });
  });
}

interface ParseError extends NodeJS.ErrnoException {
  rawPacket?: Buffer;
  bytesParsed?: number;
}

/** Errors in headers that leave the end of the body ambiguous. */
const unclearCodes = [
  'HPE_UNEXPECTED_CONTENT_LENGTH',
  'HPE_INVALID_CONTENT_LENGTH',
  'HPE_INVALID_TRANSFER_ENCODING',
];

const nothing = Buffer.alloc(0);

const rejected = new WeakSet<Socket>();

/**
 * Handles input that node:http could not parse. Its parser keeps failing for everything that follows on the
 * connection.
 */
function hearFault(error: ParseError, socket: Socket, again: Server): void {
  if (rejected.has(socket)) return;
  rejected.add(socket);
  const wires = [...wiresOf(socket)];
  // The client sent nothing, or has left.
  if (!socket.writable || !error.code?.startsWith('HPE_')) {
    socket.destroy();
    return;
  }
  if (wires.length > 0) {
    // Data before the error, such as the end of a body, is delivered first.
    setImmediate(() => {
      for (const wire of wires) wire.endConnection();
    });
    return;
  }
  // A request after one with `Connection: close` gets no response (RFC 9112 section 9.6).
  if (error.code === 'HPE_CLOSED_CONNECTION') {
    closeSoon(socket);
    return;
  }
  const headerText = unclearCodes.includes(error.code)
    ? packetsOf(socket).faultyHeaders(error.rawPacket ?? nothing, error.bytesParsed ?? 0)
    : undefined;
  if (headerText === undefined) reject(error, socket);
  else {
    heard.add(socket);
    again.emit('connection', new SecondReading(socket, renamed(headerText)));
  }
}

function reject({ code }: Partial<ParseError>, socket: Duplex): void {
  const status = code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  closeSoon(socket, `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
}

/** Returns headers in which the fields that define the body's end have other names. */
function renamed(text: string): string {
  const [headerText] = text.split('\r\n\r\n', 1);
  return `${headerText!.replaceAll(/\r\n(?=(?:content-length|transfer-encoding):)/gi, `\r\n${unclearPrefix}`)}\r\n\r\n`;
}

/** Maximum time for reading a connection after its end, because a reset would discard a response. */
const linger_ms = 1000;

/** Ends a connection of which node:http can read no more, after a last response. */
function closeSoon(socket: Duplex, last = ''): void {
  socket.end(last);
  const timer = setTimeout(() => socket.destroy(), linger_ms);
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Replays, on the same connection, headers that node:http rejected because their body could end in two
 * places: it reads changed headers and responds.
 */
class SecondReading extends Duplex {
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
