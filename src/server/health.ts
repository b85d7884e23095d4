import { get } from 'node:http';
import { pathToFileURL } from 'node:url';
import { type Config, readConfig } from '../config/config.ts';

/**
 * The HEALTHCHECK of a container: asks whether the server of these settings is ready. A program of its own, because the command
 * line loads far more, and this runs every half minute.
 */

/** Less than the HEALTHCHECK's own limit, so that the message is printed. */
const timeout_ms = 2000;

/** Asks /readyz of the admin listener; `body` is its answer. Rejects when there is none in time. */
function askReadiness({
  admin_host,
  admin_port,
}: Pick<Config, 'admin_host' | 'admin_port'>): Promise<{ ready: boolean; body: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout_ms);
    const options = { host: reachable(admin_host), port: admin_port, path: '/readyz', signal };
    const request = get(options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => {
        body += text;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ ready: response.statusCode === 200, body }));
    });
    request.on('error', reject);
  });
}

/** A wildcard address can be listened on, but connecting to it does not work on every system. */
export function reachable(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
}

async function main(): Promise<void> {
  try {
    const { ready, body } = await askReadiness(readConfig());
    process.stdout.write(`${body}\n`);
    process.exitCode = ready ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
