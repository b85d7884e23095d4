import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type Config, uwsKeepAlive_s } from '../config/config.ts';
import { moreFiles } from '../config/machine.ts';
import { uwsFolder } from '../config/paths.ts';
import { handleAdmin } from '../http/admin.ts';
import type { Services } from '../http/context.ts';
import { Connections, type ListenerOptions, type Listening, localAddress } from '../http/listening.ts';
import { NodeListener } from '../http/node/listener.ts';
import type { Pipeline } from '../http/pipeline.ts';
import { UwsListener } from '../http/uws/listener.ts';
import { loadUws } from '../http/uws/uws.ts';
import type { Log } from '../telemetry/telemetry.ts';
import { type Certificate, certificateFiles, readCertificate } from './certificate.ts';

/** Selects the HTTP server, and opens the two listeners. */

/** The HTTP server in use. */
export interface Transport {
  readonly name: 'uws' | 'node';
  /** Version of µWebSockets.js, if it is in use. */
  readonly uws: string | undefined;
  /** Reason why the preferred server or build is not used; undefined if it is used. */
  readonly reason: string | undefined;
  /** Opens a listener. Rejects with an Error whose message is meant for the user. */
  open(options: ListenerOptions): Promise<Listening>;
}

/**
 * Selects the HTTP server. `auto`: µWebSockets.js if a binary loads, otherwise node:http. Throws an Error whose
 * message is meant for the user if `uws` does not load.
 */
export function chooseTransport(choice: Config['http']): Transport {
  let reason: string | undefined;
  try {
    if (choice !== 'node') {
      const uws = loadUws();
      // Without FACEMATCH_UWS there is no warning, because the newer build does not load on many systems.
      reason = uwsFolder() && uws.failures[0];
      return { name: 'uws', uws: uws.version, reason, open: (options) => UwsListener.open(uws, options) };
    }
  } catch (error) {
    const { message } = error as Error;
    if (choice === 'uws') throw new Error(`FACEMATCH_HTTP=uws: ${message}\nSet FACEMATCH_HTTP=auto.`);
    reason = message.split('\n')[0];
  }
  return { name: 'node', uws: undefined, reason, open: NodeListener.open };
}

/**
 * Selects the HTTP server, and warns if it is not the preferred one. Throws an Error whose message is meant for
 * the user.
 */
export function openTransport({ http, keep_alive_s }: Config, { logger }: Log): Transport {
  const transport = chooseTransport(http);
  const { name, reason } = transport;
  if (reason !== undefined) {
    if (name === 'uws')
      logger.warn({ reason }, 'failed to load µWebSockets.js from FACEMATCH_UWS; using another build');
    else logger.warn({ reason }, 'failed to load µWebSockets.js; using node:http');
  }
  if (name === 'uws' && keep_alive_s !== uwsKeepAlive_s) {
    throw new Error(
      `FACEMATCH_KEEP_ALIVE_S: µWebSockets.js has a fixed keep-alive timeout of ${uwsKeepAlive_s} s. ` +
        'Unset it, or set FACEMATCH_HTTP=node.',
    );
  }
  return transport;
}

/** Number of connections that are reserved for health checks and metrics. */
const adminConnections = 32;

/** Minimum number of connections without a warning. */
export const fewConnections = 1000;

/** Number of descriptors that are reserved for watched files, logs, Redis and libraries. */
const spareDescriptors = 64;
/** Number of descriptors for the event loop and the messages of a worker. */
const descriptorsPerWorker = 8;

/**
 * Returns the maximum number of client connections that the limit of open files allows; Infinity if the limit is
 * unknown. Without a free descriptor, a process can neither accept nor reject a connection, and µWS retries in a loop.
 */
export function connectionsThatFit(workers: number): number {
  // Only Linux has this file. Node raises the soft limit to the hard limit at startup.
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : '';
  const [, limit] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  const used = readdirSync('/proc/self/fd').length;
  return Number(limit) - used - spareDescriptors - descriptorsPerWorker * workers - adminConnections;
}

/**
 * Divides the connections between both listeners. Throws an Error whose message is meant for the user if there
 * are too few.
 */
export function openConnections(
  { workers }: Pick<Config, 'workers'>,
  { logger }: Log,
): { front: Connections; admin: Connections } {
  const fitting = connectionsThatFit(workers);
  if (fitting < 1) throw new Error(`The limit of open files leaves no room for connections; ${moreFiles}`);
  if (fitting < fewConnections) {
    logger.warn(
      { max_connections: fitting },
      `the limit of open files allows only few connections; ${moreFiles}`,
    );
  }
  return { front: new Connections(fitting), admin: new Connections(adminConnections) };
}

/** Reads the certificate and logs its warnings. Returns undefined without TLS. Throws UnusableFile. */
export function openCertificate({ tls_cert, tls_key }: Config, { logger }: Log): Certificate | undefined {
  const files = certificateFiles(tls_cert, tls_key);
  const certificate = files && readCertificate(files, Date.now());
  for (const warning of certificate?.warnings ?? []) logger.warn({}, warning);
  return certificate;
}

/** Options of both listeners. */
const optionsOf = ({ config, unread }: Services, { logger }: Log) => ({
  limits: {
    upload_timeout_ms: config.upload_timeout_ms,
    idle_ms: config.upload_idle_timeout_s * 1000,
    // A client whose body is too large can read the response if the body has at most twice the allowed size.
    drain_bytes: 2 * config.max_body_bytes,
    unread,
  },
  keep_alive_ms: config.keep_alive_s * 1000,
  onFault: (error: unknown) => logger.error({ error: String(error) }, 'unexpected error in HTTP handler'),
});

export async function openFront(
  transport: Transport,
  services: Services,
  pipeline: Pipeline,
  certificate: Certificate | undefined,
  connections: Connections,
  log: Log,
): Promise<Listening> {
  const { config } = services;
  return transport.open({
    ...optionsOf(services, log),
    host: await localAddress(config.host),
    port: config.port,
    variables: 'FACEMATCH_HOST and FACEMATCH_PORT',
    connections,
    handle: pipeline.handle,
    certificate: certificate?.files,
  });
}

export async function openAdmin(
  transport: Transport,
  services: Services,
  connections: Connections,
  log: Log,
): Promise<Listening> {
  const { config } = services;
  const { name: http, reason } = transport;
  const detail = http === 'node' && reason ? `HTTP is served by node:http: ${reason}` : undefined;
  // The admin listener always uses node:http, which can close idle connections to admit a health check.
  return NodeListener.open({
    ...optionsOf(services, log),
    host: await localAddress(config.admin_host),
    port: config.admin_port,
    variables: 'FACEMATCH_ADMIN_HOST and FACEMATCH_ADMIN_PORT',
    connections,
    makesRoom: true,
    handle: (exchange) => void handleAdmin(exchange, { ...services, http, detail, logger: log.logger }),
  });
}
