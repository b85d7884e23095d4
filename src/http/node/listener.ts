import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { type Connections, cannotListen, type ListenerOptions, type Listening, urlOf } from '../listening.ts';
import { endSoon, endWith, exchangesOf, NodeExchange, readUnclear, UnclearExchange } from './exchange.ts';

/** The clocks that µWS has, with its times. */
const head_ms = 10_000;
const check_ms = 2000;

/** As of µWS: forward secrecy and authenticated encryption only. Node lists those of TLS 1.3 together with those of 1.2. */
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
  readonly #options: ListenerOptions;

  private constructor(server: Server, options: ListenerOptions) {
    this.#server = server;
    this.#options = options;
    this.connections = options.connections;
    this.port = (server.address() as AddressInfo).port;
    this.url = urlOf(options, this.port);
  }

  static async open(options: ListenerOptions): Promise<NodeListener> {
    const plain = {
      keepAliveTimeout: options.keep_alive_ms,
      headersTimeout: head_ms,
      connectionsCheckingInterval: check_ms,
      // Bodies have clocks of their own (UploadClocks).
      requestTimeout: 0,
      insecureHTTPParser: false,
    };
    const server =
      options.certificate === undefined
        ? createServer(plain)
        : createTlsServer({ ...plain, ...secureContext(options), handshakeTimeout: head_ms });
    await listen(server, options);
    return new NodeListener(server, options);
  }

  /** Node changes the certificate of a server that runs; connections keep theirs. */
  async renew(): Promise<void> {
    if (this.#server instanceof TlsServer) this.#server.setSecureContext(secureContext(this.#options));
  }

  /** Past the `close` of node:http, which would end idle connections although their next request may be on its way. */
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

/** Makes the server hand every request to `handle`, and listen. */
async function listen(server: Server, options: ListenerOptions): Promise<void> {
  const { host, port, limits, handle, onFault, connections, makesRoom = false } = options;
  count(server, connections, makesRoom);
  // The size of the head limits how many there are; Node would drop the others silently.
  server.maxHeadersCount = 0;
  const handleRequest = (...[req, res]: ConstructorParameters<typeof NodeExchange>) => {
    heard.add(req.socket);
    // What follows a body whose end is unclear may be no request of this client's.
    if (ended.has(req.socket) || !hasRoom(req.socket, res)) return;
    try {
      const exchange = new NodeExchange(req, res, limits);
      if (exchange.request.framing === 'unclear') ended.add(req.socket);
      handle(exchange);
    } catch (error) {
      onFault(error);
      req.socket.destroy();
    }
  };
  server.on('request', (req, res) => handleRequest(req, res, limits));
  // An expectation that Node does not know; it would answer without problem+json.
  server.on('checkExpectation', (req, res) => handleRequest(req, res, limits));
  // Node would close the connection without a word, and has let go of its errors.
  server.on('connect', ({ socket }) => {
    socket.on('error', () => {});
    endWith(socket, 405, ['Allow', 'GET, HEAD, POST', 'Connection', 'close'], '');
  });
  server.on('clientError', (error, socket) => refuse(error, socket as Socket, options));
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw cannotListen(options, (error as NodeJS.ErrnoException).code);
  }
  server.on('error', onFault);
}

const heard = new WeakSet<Socket>();
const ended = new WeakSet<Socket>();

/** Most requests of one connection whose answers are not sent: each takes some KiB, and the kernel hands over a thousand at once. */
const maxPipelined = 32;

const pipelined = new WeakMap<Socket, number>();

/** False, and the connection is closed, where too many requests of it wait, as µWS closes it at the first that has to. */
function hasRoom(socket: Socket, res: ServerResponse): boolean {
  const waiting = pipelined.get(socket) ?? 0;
  if (waiting >= maxPipelined) socket.destroy();
  if (socket.destroyed) return false;
  pipelined.set(socket, waiting + 1);
  res.once('close', () => pipelined.set(socket, pipelined.get(socket)! - 1));
  return true;
}

/** Beyond the limit the connection ends that is idle and the oldest, or the new one where none is idle. */
function makeRoom(server: Server, connections: Connections): void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (sockets.size <= connections.limit) return;
    connections.refused += 1;
    const idle = [...sockets].find((one) => exchangesOf(one).size === 0) ?? socket;
    sockets.delete(idle);
    idle.destroy();
  });
}

function count(server: Server, connections: Connections, makesRoom: boolean): void {
  if (makesRoom) makeRoom(server, connections);
  else if (Number.isFinite(connections.limit)) server.maxConnections = connections.limit;
  server.on('drop', () => {
    connections.refused += 1;
  });
  server.on('connection', (socket: Socket) => {
    connections.open += 1;
    socket.once('close', () => {
      connections.open -= 1;
    });
  });
  // A failed handshake is no connection of node:https.
  server.on('tlsClientError', () => {
    connections.silent += 1;
  });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    // Without a listener of ours node:http reads into memory that it keeps, with the last bodies, and gives us copies. With one,
    // each packet comes here after its parser has read it.
    socket.on('data', (packet: Buffer) => packet.fill(0));
    socket.once('close', () => {
      if (!heard.has(socket)) connections.silent += 1;
    });
  });
}

interface ParseError extends NodeJS.ErrnoException {
  rawPacket?: Buffer;
  bytesParsed?: number;
}

/** Faults of a head that leave open where its body ends. */
const unclearCodes = [
  'HPE_UNEXPECTED_CONTENT_LENGTH',
  'HPE_INVALID_CONTENT_LENGTH',
  'HPE_INVALID_TRANSFER_ENCODING',
];

const refused = new WeakSet<Socket>();

/** What node:http could not read. Its parser goes on failing for all that follows on the connection. */
function refuse(error: ParseError, socket: Socket, { limits, handle, onFault }: ListenerOptions): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  const { code = '', rawPacket, bytesParsed = 0 } = error;
  const exchanges = [...exchangesOf(socket)];
  // A client that says nothing, or has left.
  if (!socket.writable || !code.startsWith('HPE_')) {
    socket.destroy();
    return;
  }
  const open = exchanges.filter((exchange) => exchange.open);
  if (open.length > 0) {
    // What came before the fault, such as the end of a body, is delivered first.
    setImmediate(() => {
      for (const exchange of open) exchange.endConnection();
    });
    return;
  }
  // Answered before; what comes now would have been discarded.
  if (exchanges.length > 0) {
    endSoon(socket);
    return;
  }
  const request =
    unclearCodes.includes(code) && rawPacket && readUnclear(rawPacket, bytesParsed, socket.remoteAddress);
  if (request) {
    try {
      handle(new UnclearExchange(request, socket, limits));
    } catch (fault) {
      onFault(fault);
      socket.destroy();
    }
    return;
  }
  endWith(socket, code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, ['Connection', 'close'], '');
}
