import { cannotListen, type ListenerOptions, listen, serve, urlOf } from './listener.ts';
import type { App, ListenSocket, Uws } from './uws.ts';

/** A listener that speaks TLS, whose certificate can be replaced while it runs. */
interface TlsListenerOptions extends ListenerOptions {
  /** PEM files: the certificate with what it is signed by, and its private key. */
  certificate: { cert: string; key: string };
  /** Lets new connections go to the socket that listens on `port` last. */
  preferNewest(port: number): void;
  /** How long an old socket listens on, for connections that it has begun to take; 5 s. */
  handover_ms?: number;
}

/** Some retransmissions of a client's first packets. */
const defaultHandover_ms = 5000;

/**
 * Forward secrecy and authenticated encryption only. TLS 1.3 has no others, and nothing below TLS 1.2 is spoken: µWS sets
 * that itself.
 */
const ciphers = 'ECDHE+AESGCM:ECDHE+CHACHA20';

interface Front {
  app: App;
  socket: ListenSocket;
}

/**
 * µWS reads a certificate when it makes an app, and never again. So a new certificate gets an app and a socket of its own,
 * beside the old ones on the same port (SO_REUSEPORT). Then the old socket closes, and the connections of the old app go on
 * until they end by themselves. µWS never frees an app: each replacement keeps some tens of KiB.
 */
export class TlsListener {
  /** As given, or the free port that was taken for 0. */
  readonly port: number;
  readonly host: string;
  readonly #uws: Uws;
  readonly #options: TlsListenerOptions;
  #front: Front;
  /** While an old socket still listens. */
  #leaving: { timer: NodeJS.Timeout; left: Promise<void> } | undefined;
  /** Apps of before, which may have connections. */
  readonly #before: App[] = [];
  #closed = false;

  private constructor(uws: Uws, options: TlsListenerOptions, port: number) {
    this.#uws = uws;
    this.#options = options;
    this.host = options.host;
    this.port = port;
    this.#front = this.#open();
  }

  /** Throws an Error for people when it cannot listen, or when µWS cannot use the files. */
  static open(uws: Uws, options: TlsListenerOptions): TlsListener {
    return new TlsListener(uws, options, claim(uws, options));
  }

  get url(): string {
    return urlOf('https', this);
  }

  /**
   * Reads the files again: resolves when every new connection gets what is in them. Connections that are there stay as they
   * are. Rejects with an Error, and changes nothing, when µWS cannot use them.
   */
  async renew(): Promise<void> {
    // Never three at once: the kernel is told to take the second socket of the port.
    await this.#leaving?.left;
    if (this.#closed) return;
    const old = this.#front;
    this.#front = this.#open();
    this.#options.preferNewest(this.port);
    this.#before.push(old.app);
    this.#leave(old.socket);
  }

  /** Ends every connection at once, answered or not. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#leaving?.timer);
    this.#leaving = undefined;
    for (const app of this.#before) app.close();
    this.#front.app.close();
  }

  #open(): Front {
    const { certificate, host } = this.#options;
    const app = serve(tlsApp(this.#uws, certificate), this.#options);
    const socket = listen(app, host, this.port, this.#uws.LIBUS_LISTEN_SHARED_PORT);
    if (socket === undefined) throw cannotListen({ ...this.#options, port: this.port });
    return { app, socket };
  }

  #leave(socket: ListenSocket): void {
    let timer!: NodeJS.Timeout;
    const left = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#leaving = undefined;
        this.#uws.us_listen_socket_close(socket);
        resolve();
      }, this.#options.handover_ms ?? defaultHandover_ms).unref();
    });
    this.#leaving = { timer, left };
  }
}

function tlsApp(uws: Uws, { cert, key }: TlsListenerOptions['certificate']): App {
  try {
    return uws.SSLApp({ cert_file_name: cert, key_file_name: key, ssl_ciphers: ciphers });
  } catch {
    throw new Error('µWebSockets cannot use the TLS certificate and key');
  }
}

/**
 * The port that is to be shared, once it is sure that nobody else has it: a port that two processes share would give each
 * half of the requests. For 0, a free one.
 */
function claim(uws: Uws, options: TlsListenerOptions): number {
  const app = uws.App();
  const socket = listen(app, options.host, options.port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT);
  if (socket === undefined) throw cannotListen(options);
  const port = uws.us_socket_local_port(socket);
  uws.us_listen_socket_close(socket);
  return port;
}
