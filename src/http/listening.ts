import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import type { Exchange, ExchangeLimits } from './exchange.ts';

export class Connections {
  open = 0;
  /** Number of connections closed at once because the maximum was reached. */
  rejected = 0;
  /** Number of connections that ended before a request was read. */
  silent = 0;
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }
}

export interface ListenerOptions {
  host: string;
  port: number;
  /** Names of the settings, for the message if listening fails. */
  variables: string;
  /** PEM files for TLS: the certificate followed by its issuers, and the private key. */
  certificate?: { cert: string; key: string } | undefined;
  limits: ExchangeLimits;
  connections: Connections;
  /** True if an idle connection is closed for a new connection beyond the limit. Only node:http supports it. */
  makesRoom?: boolean;
  /** Keep-alive timeout; configurable only with node:http. */
  keep_alive_ms: number;
  handle(exchange: Exchange): void;
  /** Called with an exception that a callback of the transport threw. */
  onFault(error: unknown): void;
}

export interface Listening {
  /** The port in use; if 0 was given, the port that was chosen. */
  readonly port: number;
  readonly url: string;
  readonly connections: Connections;
  /** Stops accepting connections; existing ones continue. */
  stopListening(): void;
  /** Closes every connection at once, even with requests in flight. */
  close(): void;
}

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'the port needs more privileges',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EAFNOSUPPORT: 'this machine does not support IPv6',
  ENOTFOUND: 'the host name cannot be resolved',
};

/** Returns an Error whose message is meant for the user. `code`: why listening failed, such as EADDRINUSE. */
export function cannotListen({ host, port, variables }: ListenerOptions, code = 'unknown'): Error {
  const fault = listenFaults[code] ?? 'the system does not allow it';
  return new Error(`Cannot listen on ${host} port ${port} (${code}): ${fault}. Set ${variables}.`);
}

/** Opens and closes a listener. Resolves to the error code, or to undefined on success. */
export function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/**
 * Returns the first address of a host name on which this machine can listen. On a machine without IPv6, `localhost`
 * may resolve to ::1 first.
 */
export async function localAddress(host: string): Promise<string> {
  const found = await lookup(host, { all: true, order: 'verbatim' }).catch(() => []);
  for (const { address } of found) if ((await listenError(address, 0)) === undefined) return address;
  // Listening on the host name reports the error.
  return host;
}

export function urlOf({ host, certificate }: ListenerOptions, port: number): string {
  return `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
