import { cannotListen, type ListenerOptions, type Listening, urlOf } from './listening.ts';
import type { App, ListenSocket, Uws } from './uws.ts';
import { UwsExchange } from './uws-exchange.ts';

/** A µWS app on one address. */
export class Listener implements Listening {
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

  close(): void {
    this.#app.close();
  }
}

/** Makes the app hand every request to `handle`. */
export function serve(app: App, { limits, handle, onFault }: ListenerOptions): App {
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
