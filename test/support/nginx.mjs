// Runs deploy/nginx.conf with other ports, paths and servers, and with TLS to the servers if requested.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts, root, startProgram } from './programs.mjs';

// On Debian, nginx is in a folder that only root's PATH contains.
export const PATH = `${process.env.PATH}:/usr/sbin`;
export const hasNginx = spawnSync('nginx', ['-v'], { env: { PATH } }).status === 0;

/**
 * Returns a sample of deploy/ with replacements. Throws an Error if the sample does not contain a string to replace.
 */
export function sample(file, replacements) {
  let text = readFileSync(join(root, 'deploy', file), 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`deploy/${file} no longer has: ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

function write({ folder, port, pair, servers, ca, changes = [] }) {
  for (const name of ['body', 'proxy']) mkdirSync(join(folder, `nginx-${name}`), { recursive: true });
  const tls = [
    ['proxy_pass http://facematch;', 'proxy_pass https://facematch;'],
    ['# proxy_ssl_trusted_certificate /etc/facematch/ca.crt;', `proxy_ssl_trusted_certificate ${ca};`],
    ...['verify on;', 'name localhost;', 'server_name on;'].map((line) => [
      `# proxy_ssl_${line}`,
      `proxy_ssl_${line}`,
    ]),
  ];
  const behind = servers.map((one) => `server 127.0.0.1:${one} max_fails=0;`).join('\n    ');
  writeFileSync(
    join(folder, 'facematch.conf'),
    sample('nginx.conf', [
      ['server 127.0.0.1:8080 max_fails=0;', behind],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
      ['/etc/facematch/tls.crt', pair.cert],
      ['/etc/facematch/tls.key', pair.key],
      ...(ca === undefined ? [] : tls),
      ...changes,
    ]),
  );
  const scratch = ['fastcgi', 'uwsgi', 'scgi', 'proxy'].map(
    (name) => `  ${name}_temp_path ${folder}/nginx-proxy;`,
  );
  const lines = [
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'worker_processes 2;',
    `pid ${folder}/nginx.pid;`,
    'error_log stderr notice;',
    'events {}',
    'http {',
    '  access_log off;',
    `  client_body_temp_path ${folder}/nginx-body;`,
    ...scratch,
    `  include ${folder}/facematch.conf;`,
    '}',
  ];
  writeFileSync(join(folder, 'nginx.conf'), `${lines.join('\n')}\n`);
  return ['-c', join(folder, 'nginx.conf'), '-p', folder, '-g', 'daemon off;'];
}

/**
 * Starts nginx in `folder` with a certificate (`pair`: { cert, key }) in front of `servers` (ports of this machine).
 * With the file `ca`, it uses TLS to them and trusts certificates of that CA. `changes` are further pairs of a string
 * in the sample and its replacement. Returns { port, stop() }.
 */
export async function startNginx(options) {
  const [port] = await freePorts(1);
  // nginx reports its startup on standard error.
  const args = ['-c', 'exec nginx "$@" 2>&1', 'sh', ...write({ ...options, port })];
  const { stop } = await startProgram('sh', args, { ready: /start worker process /, env: { PATH } });
  return { port, stop };
}
