import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { readConfig } from '../config/config.ts';

/**
 * The HEALTHCHECK of a container. It is a separate program, because it runs often and the command line loads
 * far more.
 */

/** Shorter than the limit of the HEALTHCHECK, so that the message is printed. */
const timeout_ms = 2000;

/** Returns an address at which the listener can be reached. Both wildcards accept connections to 127.0.0.1. */
export const reachable = (host: string): string => (['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host);

async function main(): Promise<void> {
  try {
    const { admin_host, admin_port } = readConfig();
    const signal = AbortSignal.timeout(timeout_ms);
    const request = get({ host: reachable(admin_host), port: admin_port, path: '/readyz', signal });
    const [response]: IncomingMessage[] = await once(request, 'response');
    process.stdout.write(`${await text(response!)}\n`);
    process.exitCode = response!.statusCode === 200 ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
