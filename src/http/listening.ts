import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import type { Exchange, ExchangeLimits } from './exchange.ts';

export class Connections {
  open = 0;
  /** Number of connections closed at once because the maximum was reached. */
  rejected = 0;
  /** Ended before one of their requests was read: headers were rejected or dropped, or none arrived. */
  silent = 0;
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }
}

export interface ListenerOptions {
  host: string;
  port: number;
  /** Variables to name in the message when listening fails. */
  variables: string;
  /** PEM files for TLS: the certificate followed by its signers, and its private key. */
  certificate?: { cert: string; key: string } | undefined;
  limits: ExchangeLimits;
  connections: Connections;
  /** True if an idle connection is closed for a new one beyond the limit; only node:http can do that. */
  makesRoom?: boolean;
  /** Keep-alive timeout; configurable only with node:http. */
  keep_alive_ms: number;
  handle(exchange: Exchange): void;
  /** Called with an exception in a callback of the transport. */
  onFault(error: unknown): void;
}

export interface Listening {
  /** The port as given, or the free one that was chosen for 0. */
  readonly port: number;
  readonly url: string;
  readonly connections: Connections;
  /** Stops accepting connections; existing ones continue. */
  stopListening(): void;
  /** Closes every connection at once, even with requests in flight. */
  close(): void;
}

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'the port is taken',
  EACCES: 'the port needs more rights',
  EADDRNOTAVAIL: "the address is not one of this machine's",
  EAFNOSUPPORT: 'there is no IPv6 here',
  ENOTFOUND: 'the host name cannot be resolved',
};

/** Returns an error for people when listening failed with `code`, such as EADDRINUSE. */
export function cannotListen({ host, port, variables }: ListenerOptions, code = 'unknown'): Error {
  const fault = listenFaults[code] ?? 'the system does not allow it';
  return new Error(`Cannot listen on ${host} port ${port} (${code}): ${fault}. Set ${variables}.`);
}

/** Tries to listen: returns the error's code, or undefined on success. The socket is closed again. */
export function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/**
 * Returns the first address of a host name that can be listened on: `localhost` may resolve to ::1 first on a
 * machine without IPv6.
 */
export async function localAddress(host: string): Promise<string> {
  const found = await lookup(host, { all: true, order: 'verbatim' }).catch(() => []);
  for (const { address } of found) if ((await listenError(address, 0)) === undefined) return address;
  // Listening will report the error.
  return host;
}

export function urlOf({ host, certificate }: ListenerOptions, port: number): string {
  return `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
