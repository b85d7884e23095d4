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

/**
 * The ciphers of TLS 1.2 with forward secrecy and authenticated encryption. All ciphers of TLS 1.3 have both, and
 * µWS rejects older versions.
 */
const ciphers = 'ECDHE+AESGCM:ECDHE+CHACHA20';

export class UwsListener implements Listening {
  readonly port: number;
  readonly url: string;
  readonly connections: Connections;
  readonly #uws: Uws;
  readonly #app: App;
  #socket: ListenSocket | undefined;

  private constructor(uws: Uws, options: ListenerOptions) {
    const { certificate, connections, host, port } = options;
    this.#uws = uws;
    this.connections = connections;
    this.#app = certificate === undefined ? uws.App() : tlsApp(uws, certificate);
    handleRequests(this.#app, options);
    this.#app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      this.#socket = socket || undefined;
    });
    if (this.#socket === undefined) throw listenFailed;
    this.port = uws.us_socket_local_port(this.#socket);
    this.url = urlOf(options, this.port);
  }

  /**
   * Rejects with an Error whose message is meant for the user if it cannot listen, or if µWS cannot use the
   * certificate.
   */
  static async open(uws: Uws, options: ListenerOptions): Promise<UwsListener> {
    try {
      return new UwsListener(uws, options);
    } catch (error) {
      if (error !== listenFailed) throw error;
      throw cannotListen(options, await listenError(options.host, options.port));
    }
  }

  stopListening(): void {
    if (this.#socket !== undefined) this.#uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  close(): void {
    // Closing the app also closes the listening socket and frees its memory. `stopListening` may be called later, if
    // draining has not ended within the shutdown time, and must not use the socket then.
    this.#socket = undefined;
    this.#app.close();
  }
}

function tlsApp(uws: Uws, { cert, key }: NonNullable<ListenerOptions['certificate']>): App {
  try {
    return uws.SSLApp({ cert_file_name: cert, key_file_name: key, ssl_ciphers: ciphers });
  } catch {
    throw new Error('µWebSockets cannot use the TLS certificate and key');
  }
}

/** Passes every request of the app to `handle`, and counts its connections. */
function handleRequests(app: App, { limits, handle, onFault, connections }: ListenerOptions): void {
  app.any('/*', (res, req) => {
    // An exception in a callback of µWS would crash the process.
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
      connections.rejected += 1;
      res.close();
      return;
    }
    // The first request of the connection replaces this listener with its own, or removes it by responding.
    res.onAborted(() => {
      connections.silent += 1;
    });
  };
  app.filter(count);
}

/** µWS does not report why listening failed. */
const listenFailed = new Error('µWebSockets cannot listen');
