import {
  type Connections,
  cannotListen,
  type ListenerOptions,
  type Listening,
  listenError,
  urlOf,
} from '../listening.ts';

import type { App, HttpResponse, ListenSocket, Uws } from './uws.ts';
import { UwsWire } from './wire.ts';

interface Options extends ListenerOptions {
  /** How long an old socket stays open for connections that it has begun to accept; 5 s by default. */
  handover_ms?: number;
}

/** Enough for some retransmissions of a client's first packets. */
const defaultHandover_ms = 5000;

/** Forward secrecy and authenticated encryption only, for TLS 1.2; TLS 1.3 has no others. µWS itself refuses older versions. */
const ciphers = 'ECDHE+AESGCM:ECDHE+CHACHA20';

/**
 * A µWS app on one address. µWS reads a certificate only when it makes an app, so a new one gets a new app and a new socket on the same port
 * (SO_REUSEPORT). The old socket closes, its connections go on until they end. µWS never frees an app, which is some tens of KiB.
 */
export class UwsListener implements Listening {
  readonly port: number;
  readonly url: string;
  readonly connections: Connections;
  readonly #uws: Uws;
  readonly #options: Options;
  /** The last one listens; those before it may still have connections. */
  readonly #apps: App[] = [];
  /** Undefined when it does not listen any more. */
  #socket: ListenSocket | undefined;
  /** Set while an old socket still listens. */
  #leaving: { timer: NodeJS.Timeout; left: Promise<void>; leave(): void } | undefined;
  #closed = false;

  private constructor(uws: Uws, options: Options) {
    this.#uws = uws;
    this.#options = options;
    this.connections = options.connections;
    this.#socket = this.#open(options.certificate === undefined ? options.port : findPort(uws, options));
    this.port = uws.us_socket_local_port(this.#socket);
    this.url = urlOf(options, this.port);
  }

  /** Rejects with an Error for people when it cannot listen, or when µWS cannot use the certificate. */
  static async open(uws: Uws, options: Options): Promise<UwsListener> {
    try {
      return new UwsListener(uws, options);
    } catch (error) {
      if (error !== listenRefused) throw error;
      throw cannotListen(options, await listenError(options.host, options.port));
    }
  }

  async renew(): Promise<void> {
    // Never three sockets at once: the kernel is told to use the second one of the port.
    await this.#leaving?.left;
    const old = this.#socket;
    if (this.#closed || old === undefined) return;
    this.#socket = this.#open(this.port);
    this.#options.preferNewest?.(this.port);
    this.#leave(old);
  }

  stopListening(): void {
    this.#leaving?.leave();
    if (this.#socket !== undefined) this.#uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#leaving?.timer);
    this.#leaving = undefined;
    for (const app of this.#apps) app.close();
  }

  #open(port: number): ListenSocket {
    const { certificate, host } = this.#options;
    const app = certificate === undefined ? this.#uws.App() : tlsApp(this.#uws, certificate);
    handleRequests(app, this.#options);
    const mode =
      certificate === undefined ? this.#uws.LIBUS_LISTEN_EXCLUSIVE_PORT : this.#uws.LIBUS_LISTEN_SHARED_PORT;
    const socket = listen(app, host, port, mode);
    this.#apps.push(app);
    return socket;
  }

  #leave(socket: ListenSocket): void {
    let leave!: () => void;
    const left = new Promise<void>((resolve) => {
      leave = () => {
        clearTimeout(timer);
        this.#leaving = undefined;
        this.#uws.us_listen_socket_close(socket);
        resolve();
      };
    });
    const timer = setTimeout(leave, this.#options.handover_ms ?? defaultHandover_ms).unref();
    this.#leaving = { timer, left, leave };
  }
}

function tlsApp(uws: Uws, { cert, key }: NonNullable<Options['certificate']>): App {
  try {
    return uws.SSLApp({ cert_file_name: cert, key_file_name: key, ssl_ciphers: ciphers });
  } catch {
    throw new Error('µWebSockets cannot use the TLS certificate and key');
  }
}

/** The port, or a free one for 0. Throws `listenRefused` when another process has it: each would get half of the requests. */
function findPort(uws: Uws, options: Options): number {
  const socket = listen(uws.App(), options.host, options.port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT);
  const port = uws.us_socket_local_port(socket);
  uws.us_listen_socket_close(socket);
  return port;
}

/** Makes the app hand every request to `handle`, and count its connections. */
function handleRequests(app: App, { limits, handle, onFault, connections }: ListenerOptions): void {
  app.any('/*', (res, req) => {
    // A JavaScript exception in a callback of µWS would end the process.
    try {
      const wire = new UwsWire(res, req, limits);
      try {
        handle(wire.exchange);
      } finally {
        wire.stay();
      }
    } catch (error) {
      onFault(error);
      res.close();
    }
  });
  const count = (res: HttpResponse, change: number): void => {
    connections.open += change;
    if (change < 0) return;
    if (connections.open > connections.limit) {
      connections.refused += 1;
      res.close();
      return;
    }
    // The first request of the connection replaces this listener with its own, or removes it by its answer.
    res.onAborted(() => {
      connections.silent += 1;
    });
  };
  app.filter(count);
}

/** µWS does not say why listening failed. */
const listenRefused = new Error('µWebSockets cannot listen');

function listen(app: App, host: string, port: number, mode: number): ListenSocket {
  let opened: ListenSocket | undefined;
  app.listen(host, port, mode, (socket) => {
    if (socket) opened = socket;
  });
  if (opened === undefined) throw listenRefused;
  return opened;
}
