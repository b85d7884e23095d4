import { Exchange, type ExchangeLimits } from './exchange.ts';
import type { App, ListenSocket, Uws } from './uws.ts';

export interface ListenerOptions {
  host: string;
  port: number;
  /** The variables to name in the message when listening fails. */
  variables: string;
  limits: ExchangeLimits;
  handle(exchange: Exchange): void;
  /** An exception in a callback of µWS. */
  onFault(error: unknown): void;
}

/** A µWS app on one address. */
export class Listener {
  /** As given, or the free port that was chosen for 0. */
  readonly port: number;
  readonly host: string;
  readonly #app: App;

  private constructor(app: App, host: string, port: number) {
    this.#app = app;
    this.host = host;
    this.port = port;
  }

  static open(uws: Uws, options: ListenerOptions): Listener {
    const app = serve(uws.App(), options);
    const socket = listen(app, options.host, options.port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT);
    if (socket === undefined) throw cannotListen(options);
    return new Listener(app, options.host, uws.us_socket_local_port(socket));
  }

  get url(): string {
    return urlOf('http', this);
  }

  /** Ends every connection at once, answered or not. */
  close(): void {
    this.#app.close();
  }
}

/** Makes the app hand every request to `handle`. */
export function serve(app: App, { limits, handle, onFault }: ListenerOptions): App {
  app.any('/*', (res, req) => {
    // A JavaScript exception in a callback of µWS would end the process.
    try {
      const exchange = new Exchange(res, req, limits);
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

export function cannotListen({ host, port, variables }: ListenerOptions): Error {
  return new Error(
    `Cannot listen on ${host} port ${port}: the address is not one of this machine's, the port is taken, or it ` +
      `needs more rights. Set ${variables}.`,
  );
}

export function urlOf(scheme: 'http' | 'https', { host, port }: { host: string; port: number }): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
