import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { makePair } from '../../fixtures/certificates.ts';
import { newFolder } from '../../support/folder.ts';
import { RawClient } from './client.ts';
import { TestServer } from './server.ts';

/** A server that speaks TLS, and what trusts its first certificate, whose name is `one`. */
export async function startTls(env: Record<string, string> = {}, pair = makePair(newFolder(), 'one')) {
  // Read before the server is: the file may change from now on.
  const ca = readFileSync(pair.cert);
  const files = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key };
  return { server: await TestServer.start({ env: { ...files, ...env } }), pair, ca };
}

/** Resolves after the handshake, and rejects when there is none. Whoever the other is, is not asked unless `ca` is given. */
export async function connectTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const rejectUnauthorized = options.ca !== undefined;
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized, ...options });
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
