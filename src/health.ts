import { get } from 'node:http';
import { pathToFileURL } from 'node:url';
import { type Config, readConfig } from './config.ts';

/**
 * What a container's HEALTHCHECK runs: is the server of these settings ready? A program of its own, because the command
 * line loads ten times as much, and this runs every half a minute for as long as the server does.
 */

/** Less than the HEALTHCHECK's own limit, so that it is told why. */
const patience_ms = 2000;

/** What `readyz` of the admin listener answers. Rejects when nobody answers in time. */
function askReadiness({
  admin_host,
  admin_port,
}: Pick<Config, 'admin_host' | 'admin_port'>): Promise<{ ready: boolean; told: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(patience_ms);
    const options = { host: reachable(admin_host), port: admin_port, path: '/readyz', signal };
    const request = get(options, (response) => {
      let told = '';
      response.setEncoding('utf8');
      response.on('data', (text) => {
        told += text;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ ready: response.statusCode === 200, told }));
    });
    request.on('error', reject);
  });
}

/** An address that stands for every one of the machine can be listened on, but not everywhere be called. */
function reachable(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
}

async function main(): Promise<void> {
  try {
    const { ready, told } = await askReadiness(readConfig());
    process.stdout.write(`${told}\n`);
    process.exitCode = ready ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
