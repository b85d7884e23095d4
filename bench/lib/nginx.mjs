// deploy/nginx.conf for real: its ports, paths and servers replaced by those of a scratch folder, and nothing else.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { root } from './paths.mjs';

// Debian has it where only root's PATH looks.
const PATH = `${process.env.PATH}:/usr/sbin`;
export const hasNginx = spawnSync('nginx', ['-v'], { env: { PATH } }).status === 0;

/** The sample with each pattern replaced; throws an Error for one that is not there, so that both stay alike. */
function sample(replacements) {
  let text = readFileSync(join(root, 'deploy/nginx.conf'), 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`deploy/nginx.conf no longer has: ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** What `nginx -t` has to say, and whether it is content. `options` as startNginx has them, with a port. */
export function testNginx(options) {
  const { status, stderr } = spawnSync('nginx', ['-t', ...paths(write(options))], {
    env: { PATH },
    encoding: 'utf8',
  });
  return { ok: status === 0, said: stderr };
}

/**
 * Starts it in `folder` with a certificate (`pair`: { cert, key }) in front of `servers` (ports of this machine). With `ca`, a
 * file, it speaks TLS to them and trusts what that signed. Answers { port, address, pid, stop() }.
 */
export async function startNginx(options) {
  const port = await freePort();
  const conf = write({ ...options, port });
  const child = spawn('nginx', paths(conf), { env: { PATH }, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'close');
  const onExit = () => child.kill('SIGTERM');
  process.once('exit', onExit);
  await new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (text) => {
      said += text;
      // The port is open by then.
      if (said.includes('start worker process ')) resolve();
    });
    void ended.then(() => reject(new Error(`nginx did not start: ${said}`)));
  });
  return {
    port,
    address: `https://localhost:${port}`,
    pid: child.pid,
    async stop() {
      process.off('exit', onExit);
      child.kill('SIGTERM');
      await ended;
    },
  };
}

const paths = (conf) => ['-c', conf, '-p', join(conf, '..'), '-g', 'daemon off;'];

function write({ folder, port, pair, servers, ca }) {
  for (const name of ['body', 'proxy']) mkdirSync(join(folder, `nginx-${name}`), { recursive: true });
  const behind = servers.map((one) => `server 127.0.0.1:${one} max_fails=0;`).join('\n    ');
  const tls = [
    ['proxy_pass http://facematch;', 'proxy_pass https://facematch;'],
    ['# proxy_ssl_trusted_certificate /etc/facematch/ca.crt;', `proxy_ssl_trusted_certificate ${ca};`],
    ...['verify on;', 'name localhost;', 'server_name on;'].map((line) => [
      `# proxy_ssl_${line}`,
      `proxy_ssl_${line}`,
    ]),
  ];
  const conf = sample([
    ['server 127.0.0.1:8080 max_fails=0;', behind],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['/etc/facematch/tls.crt', pair.cert],
    ['/etc/facematch/tls.key', pair.key],
    ...(ca === undefined ? [] : tls),
  ]);
  writeFileSync(join(folder, 'facematch.conf'), conf);
  const file = join(folder, 'nginx.conf');
  const lines = [
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'worker_processes 2;',
    `pid ${join(folder, 'nginx.pid')};`,
    'error_log stderr notice;',
    'events {}',
    'http {',
    '  access_log off;',
    `  client_body_temp_path ${join(folder, 'nginx-body')};`,
    `  proxy_temp_path ${join(folder, 'nginx-proxy')};`,
    ...['fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path ${join(folder, 'nginx-proxy')};`),
    `  include ${join(folder, 'facematch.conf')};`,
    '}',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

export async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
