import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { makePair, type Pair } from '../../fixtures/certificates.ts';
import { RawClient } from './client.ts';
import { Home, type StartOptions, TestServer } from './server.ts';

/** A server that speaks TLS, and clients that trust its first certificate, whose name is `one`. */
export async function startTls(
  options: StartOptions = {},
  place: (home: Home) => Pair = (home) => makePair(home.folder, 'one'),
): Promise<{ server: TestServer; pair: Pair; ca: Buffer }> {
  const home = new Home();
  const pair = place(home);
  const env = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key, ...options.env };
  // Read before the server is: the file may change from now on.
  const ca = readFileSync(pair.cert);
  return { server: await TestServer.start({ ...options, env }, home), pair, ca };
}

/** Resolves after the handshake, and rejects when there is none. Whoever the other is, is not asked unless `ca` is given. */
export async function connectTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: options.ca !== undefined,
    ...options,
  });
  await once(socket, 'secureConnect');
  return socket;
}

export const rawTls = async (port: number) => new RawClient(await connectTls(port));

/** Common name of the certificate that a new connection gets; with `servername` when one is given. */
export async function nameAt(port: number, servername?: string): Promise<string> {
  const socket = await connectTls(port, servername === undefined ? {} : { servername });
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}
