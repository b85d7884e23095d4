import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { Problem } from '../errors.ts';
import type { Services } from './context.ts';
import type { Exchange, Reply } from './exchange.ts';
import { requestId } from './request.ts';
import { forbidden, json, problem } from './responses.ts';

/** Services of the admin listener. It has its own port, which clients must not reach, because it requires no key. */
interface AdminServices extends Pick<Services, 'config' | 'readiness' | 'engine' | 'telemetry'> {
  /** The HTTP server for clients. */
  http: 'uws' | 'node';
  /** A warning for the operator, shown although the service is ready. */
  detail: string | undefined;
  logger: Logger;
}

/** Values of `status` in the responses of /readyz. `recovering`: all workers died, and their replacements are starting. */
export const readinessStatuses = ['starting', 'ready', 'draining', 'recovering', 'stuck'] as const;
type ReadinessStatus = (typeof readinessStatuses)[number];

const adminRoutes: Readonly<Record<string, (services: AdminServices) => Reply | Promise<Reply>>> = {
  // Stuck workers are replaced up to a limit. If all workers are blocked, the process must be restarted.
  '/healthz': ({ engine }) =>
    hangs(engine) ? json(503, { status: 'stuck' }) : json(200, { status: 'alive' }),
  '/readyz': ({ readiness, engine, http, detail }) => {
    const { stuck } = engine;
    const status: ReadinessStatus = readiness.stage === 'ready' ? ableTo(engine) : readiness.stage;
    const stuck_workers = stuck > 0 ? stuck : undefined;
    return json(status === 'ready' ? 200 : 503, { status, http, stuck_workers, detail });
  },
  '/metrics': async ({ telemetry: { metrics } }) => ({
    status: 200,
    headers: [['Content-Type', metrics.registry.contentType]],
    body: await metrics.registry.metrics(),
  }),
};

const hangs = ({ available, blocked }: AdminServices['engine']): boolean =>
  blocked > 0 && blocked >= available;

/** Returns the status of a service whose startup is complete. */
function ableTo(engine: AdminServices['engine']): ReadinessStatus {
  if (engine.available === 0) return 'recovering';
  return hangs(engine) ? 'stuck' : 'ready';
}

/** Handles a request to the admin listener. */
export async function handleAdmin(exchange: Exchange, services: AdminServices): Promise<void> {
  const { method, path, headers } = exchange.request;
  const request_id = requestId(headers.get('x-request-id'));
  if (!isKnownHost(headers.get('host'), services.config)) {
    exchange.reply(forbidden(unknownHost, request_id));
    return;
  }
  try {
    const buildResponse = Object.hasOwn(adminRoutes, path) ? adminRoutes[path] : undefined;
    if (buildResponse === undefined) {
      throw new Problem('not_found', {
        detail: `The available paths are: ${Object.keys(adminRoutes).join(', ')}.`,
      });
    }
    if (method !== 'GET' && method !== 'HEAD') throw new Problem('method_not_allowed');
    exchange.reply(await buildResponse(services));
  } catch (error) {
    const rejection = error instanceof Problem ? error : new Problem('internal_error');
    if (rejection !== error)
      services.logger.error({ request_id, path, error: String(error) }, 'failed to handle an admin request');
    const allow = rejection.code === 'method_not_allowed' ? [['Allow', 'GET, HEAD'] as const] : [];
    exchange.reply(problem(rejection, request_id), allow);
  }
}

const unknownHost =
  'The Host header of this request is unknown. Use an IP address or localhost, or add the host to FACEMATCH_ADMIN_HOSTS.';

/**
 * Returns true for an IP address or a configured host name. A web page could point any other name at this listener
 * (DNS rebinding). A request without Host is accepted, because browsers always send Host.
 */
function isKnownHost(
  host: string | undefined,
  { admin_host, admin_hosts }: AdminServices['config'],
): boolean {
  if (!host) return true;
  const [, address, name = address] = /^(?:\[(.*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  if (name === undefined) return false;
  const known = ['localhost', admin_host, ...admin_hosts].map((one) => one.toLowerCase());
  return isIP(name) !== 0 || known.includes(name.toLowerCase().replace(/\.$/, ''));
}
