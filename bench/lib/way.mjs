// What lies between the clients of a run and its server.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNginx } from './nginx.mjs';
import { startServer } from './server.mjs';

/** By what --through says: each takes startServer's options, and answers { server, address, connect, stop() }. */
const ways = {
  /** Nothing. */
  none: async (options) => {
    const server = await startServer(options);
    return { server, address: server.address, connect: {}, stop: () => server.stop() };
  },
  /** nginx with deploy/nginx.conf: TLS to it, and TLS from it to the server. */
  'nginx-tls': async (options) => {
    const folder = mkdtempSync(join(tmpdir(), 'facematch-way-'));
    const pair = certificate(folder);
    const tls = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key, FACEMATCH_TRUSTED_HOPS: '1' };
    const server = await startServer({ ...options, env: { ...options.env, ...tls } });
    const nginx = await startNginx({ folder, pair, servers: [server.port], ca: pair.cert });
    return {
      server,
      address: nginx.address,
      connect: { ca: readFileSync(pair.cert) },
      async stop() {
        await nginx.stop();
        rmSync(folder, { recursive: true, force: true });
        return server.stop();
      },
    };
  },
};

/** `connect` is for undici's Agent. Ends the process on a name that is none. */
export function openWay(name, options) {
  const open = Object.hasOwn(ways, name) ? ways[name] : undefined;
  if (open !== undefined) return open(options);
  process.stderr.write(`--through: expected one of ${Object.keys(ways).join(', ')}\n`);
  process.exit(2);
}

/** For localhost, signed by itself. */
function certificate(folder) {
  const pair = { cert: join(folder, 'way.crt'), key: join(folder, 'way.key') };
  const what = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'];
  const who = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', ...what, ...who, '-keyout', pair.key, '-out', pair.cert], {
    stdio: 'pipe',
  });
  return pair;
}
