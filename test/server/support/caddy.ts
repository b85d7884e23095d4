import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectPath } from '../../../src/config/paths.ts';
import type { Pair } from '../../fixtures/certificates.ts';

const { startProgram } = await import(projectPath('test/support/programs.mjs'));

export const hasCaddy = spawnSync('caddy', ['version']).status === 0;
if (!hasCaddy) process.stderr.write('deploy/Caddyfile is not tested: caddy is not installed\n');

/** deploy/Caddyfile for real: its address, certificate and servers replaced by those of the test. */
export async function startCaddy(folder: string, port: number, pair: Pair, servers: readonly number[]) {
  const replacements = [
    ['facematch.example {', `https://localhost:${port} {`],
    ['# tls /etc/facematch/tls.crt /etc/facematch/tls.key', `tls ${pair.cert} ${pair.key}`],
    ['to 127.0.0.1:8080', `to ${servers.map((one) => `127.0.0.1:${one}`).join(' ')}`],
    ['# admin off', 'admin off'],
  ] as const;
  let text = readFileSync(projectPath('deploy/Caddyfile'), 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`deploy/Caddyfile no longer has: ${from}`);
    text = text.replace(from, to);
  }
  // Else it would ask for port 80 as well, to send browsers on from there.
  text = text.replace('admin off', 'admin off\n\tauto_https disable_redirects');
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, text);
  // It tells of its start on standard error.
  const args = ['-c', 'exec caddy "$@" 2>&1', 'sh', 'run', '--config', file, '--adapter', 'caddyfile'];
  const caddy = await startProgram('sh', args, {
    ready: /serving initial configuration/,
    env: { HOME: folder },
  });
  return { stop: () => caddy.stop() };
}
