import type { Connections } from './connections.ts';
import type { Exchange, ExchangeLimits } from './exchange.ts';

/** What the listeners of both transports have in common. */

export interface ListenerOptions {
  host: string;
  port: number;
  /** The variables to name in the message when listening fails. */
  variables: string;
  limits: ExchangeLimits;
  /** Counts the connections of this listener. */
  connections: Connections;
  /** How long a connection is kept for its next request; only node:http can choose it. */
  keep_alive_ms: number;
  handle(exchange: Exchange): void;
  /** An exception in a callback of the transport. */
  onFault(error: unknown): void;
}

export interface TlsListenerOptions extends ListenerOptions {
  /** PEM files: the certificate followed by its signers, and its private key. */
  certificate: { cert: string; key: string };
  /** Makes the kernel give new connections to the newest socket on `port`; only µWS needs it. */
  preferNewest(port: number): void;
}

export interface Listening {
  /** As given, or the free port that was chosen for 0. */
  readonly port: number;
  /** SCHEME://HOST:PORT */
  readonly url: string;
  readonly connections: Connections;
  /** Accepts no connection any more; those that there are go on. */
  stopListening(): void;
  /** Ends every connection at once, answered or not. */
  close(): void;
}

export interface TlsListening extends Listening {
  /**
   * Reads the files again. Resolves when all new connections use them; existing connections are not affected. When they cannot
   * be used, rejects with an Error and changes nothing.
   */
  renew(): Promise<void>;
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
