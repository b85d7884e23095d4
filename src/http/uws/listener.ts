import type { Connections } from '../connections.ts';
import { cannotListen, type ListenerOptions, type Listening, urlOf } from '../listening.ts';
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
    const app = serve(uws.App(), options);
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
export function serve(app: App, { limits, handle, onFault, connections }: ListenerOptions): App {
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
