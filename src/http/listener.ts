import { Exchange, type ExchangeLimits } from './exchange.ts';
import type { App, Uws } from './uws.ts';

/** A µWS app on one address. */
export interface ListenerOptions {
  host: string;
  port: number;
  /** The variables to name when it does not work. */
  variables: string;
  limits: ExchangeLimits;
  handle(exchange: Exchange): void;
  /** Something was thrown in a callback of µWS. */
  onFault(error: unknown): void;
}

export class Listener {
  /** As given, or the free port that was taken for 0. */
  readonly port: number;
  readonly host: string;
  readonly #app: App;

  private constructor(app: App, host: string, port: number) {
    this.#app = app;
    this.host = host;
    this.port = port;
  }

  static open(uws: Uws, options: ListenerOptions): Listener {
    const { host, port } = options;
    const app = uws.App();
    app.any('/*', (res, req) => {
      // No exception of JavaScript may unwind into µWS: it would end the process.
      try {
        const exchange = new Exchange(res, req, options.limits);
        try {
          options.handle(exchange);
        } finally {
          exchange.stay();
        }
      } catch (error) {
        options.onFault(error);
        res.close();
      }
    });
    let taken: number | undefined;
    app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket) taken = uws.us_socket_local_port(socket);
    });
    if (taken === undefined) {
      throw new Error(
        `Cannot listen on ${host} port ${port}: the address is not one of this machine's, the port is taken, or it ` +
          `needs more rights. Set ${options.variables}.`,
      );
    }
    return new Listener(app, host, taken);
  }

  get url(): string {
    return `http://${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /** Ends every connection at once, answered or not. */
  close(): void {
    this.#app.close();
  }
}
