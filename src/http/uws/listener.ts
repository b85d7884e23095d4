import {
  type Connections,
  cannotListen,
  type ListenerOptions,
  type Listening,
  type TlsListenerOptions,
  type TlsListening,
  urlOf,
} from '../listening.ts';
import { UwsExchange } from './exchange.ts';
import type { App, HttpResponse, ListenSocket, Uws } from './uws.ts';

/** A µWS app on one address. */
export class Listener implements Listening {
  readonly port: number;
  readonly host: string;
  readonly connections: Connections;
  readonly #uws: Uws;
  readonly #app: App;
  #socket: ListenSocket | undefined;

  private constructor(uws: Uws, app: App, socket: ListenSocket, { host, connections }: ListenerOptions) {
    this.#uws = uws;
    this.#app = app;
    this.#socket = socket;
    this.host = host;
    this.port = uws.us_socket_local_port(socket);
    this.connections = connections;
  }

  static open(uws: Uws, options: ListenerOptions): Listener {
    const app = handleRequests(uws.App(), options);
    const socket = listen(app, options.host, options.port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT);
    if (socket === undefined) throw cannotListen(options);
    return new Listener(uws, app, socket, options);
  }

  get url(): string {
    return urlOf('http', this);
  }

  stopListening(): void {
    if (this.#socket !== undefined) this.#uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  close(): void {
    this.#app.close();
  }
}

/** Makes the app hand every request to `handle`, and count its connections. */
export function handleRequests(app: App, { limits, handle, onFault, connections }: ListenerOptions): App {
  app.any('/*', (res, req) => {
    // A JavaScript exception in a callback of µWS would end the process.
    try {
      const exchange = new UwsExchange(res, req, limits);
      try {
        handle(exchange);
      } finally {
        exchange.stay();
      }
    } catch (error) {
      onFault(error);
      res.close();
    }
  });
  const count = (res: HttpResponse, change: number): void => {
    if (change < 0) connections.leave();
    else if (!connections.enter()) res.close();
    // The first request of the connection replaces this listener with its own, or removes it by its answer.
    else res.onAborted(() => connections.endedSilent());
  };
  app.filter(count);
  return app;
}

/** Undefined when listening fails. */
export function listen(app: App, host: string, port: number, mode: number): ListenSocket | undefined {
  let opened: ListenSocket | undefined;
  app.listen(host, port, mode, (socket) => {
    if (socket) opened = socket;
  });
  return opened;
}

interface Options extends TlsListenerOptions {
  /** How long an old socket stays open for connections that it has begun to accept; 5 s by default. */
  handover_ms?: number;
}

/** Enough for some retransmissions of a client's first packets. */
const defaultHandover_ms = 5000;

/** Forward secrecy and authenticated encryption only, for TLS 1.2; TLS 1.3 has no others. µWS itself refuses older versions. */
const ciphers = 'ECDHE+AESGCM:ECDHE+CHACHA20';

interface Front {
  app: App;
  /** Undefined when it does not listen any more. */
  socket: ListenSocket | undefined;
}

/**
 * A listener that speaks TLS and whose certificate can be replaced while it runs. µWS reads a certificate only when it makes an
 * app. So a new certificate gets a new app and a new socket on the same port (SO_REUSEPORT). Then the old socket closes, and
 * the connections of the old app go on until they end. µWS never frees an app: each replacement leaks some tens of KiB.
 */
export class TlsListener implements TlsListening {
  readonly port: number;
  readonly host: string;
  readonly connections: Connections;
  readonly #uws: Uws;
  readonly #options: Options;
  #front: Front;
  /** Set while an old socket still listens. */
  #leaving: { timer: NodeJS.Timeout; left: Promise<void>; leave(): void } | undefined;
  /** Older apps, which may still have connections. */
  readonly #before: App[] = [];
  #closed = false;

  private constructor(uws: Uws, options: Options, port: number) {
    this.#uws = uws;
    this.#options = options;
    this.host = options.host;
    this.port = port;
    this.connections = options.connections;
    this.#front = this.#open();
  }

  /** Throws an Error for people when it cannot listen, or when µWS cannot use the files. */
  static open(uws: Uws, options: Options): TlsListener {
    return new TlsListener(uws, options, reservePort(uws, options));
  }

  get url(): string {
    return urlOf('https', this);
  }

  async renew(): Promise<void> {
    // Never three sockets at once: the kernel is told to use the second one of the port.
    await this.#leaving?.left;
    if (this.#closed || this.#front.socket === undefined) return;
    const old = this.#front;
    this.#front = this.#open();
    this.#options.preferNewest(this.port);
    this.#before.push(old.app);
    this.#leave(old.socket!);
  }

  stopListening(): void {
    this.#leaving?.leave();
    const { socket } = this.#front;
    if (socket !== undefined) this.#uws.us_listen_socket_close(socket);
    this.#front.socket = undefined;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#leaving?.timer);
    this.#leaving = undefined;
    for (const app of this.#before) app.close();
    this.#front.app.close();
  }

  #open(): Front {
    const { certificate, host } = this.#options;
    const app = handleRequests(tlsApp(this.#uws, certificate), this.#options);
    const socket = listen(app, host, this.port, this.#uws.LIBUS_LISTEN_SHARED_PORT);
    if (socket === undefined) throw cannotListen({ ...this.#options, port: this.port });
    return { app, socket };
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

function tlsApp(uws: Uws, { cert, key }: Options['certificate']): App {
  try {
    return uws.SSLApp({ cert_file_name: cert, key_file_name: key, ssl_ciphers: ciphers });
  } catch {
    throw new Error('µWebSockets cannot use the TLS certificate and key');
  }
}

/**
 * The port to listen on, after checking that no other process has it: two processes that share a port would get half of the
 * requests each. For 0, a free one.
 */
function reservePort(uws: Uws, options: Options): number {
  const app = uws.App();
  const socket = listen(app, options.host, options.port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT);
  if (socket === undefined) throw cannotListen(options);
  const port = uws.us_socket_local_port(socket);
  uws.us_listen_socket_close(socket);
  return port;
}
