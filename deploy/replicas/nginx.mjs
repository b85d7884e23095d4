// Debian's nginx in front of the replicas, with an account of what it did with each request.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { endProgram, startProgram, until } from './process.mjs';

/** The folder of the system's programs is not on everybody's path. */
const program = ['/usr/sbin/nginx', '/usr/local/sbin/nginx'].find((file) => existsSync(file)) ?? 'nginx';

export class Nginx {
  port;
  #folder;
  #upstreams;
  #child;

  constructor({ port, folder, upstreams }) {
    this.port = port;
    this.#folder = join(folder, 'nginx');
    this.#upstreams = upstreams;
  }

  get pid() {
    return this.#child.pid;
  }

  async start() {
    mkdirSync(this.#folder);
    const file = join(this.#folder, 'nginx.conf');
    writeFileSync(file, this.#configuration());
    this.#child = await startProgram(
      program,
      ['-p', this.#folder, '-c', file, '-e', 'stderr', '-g', 'daemon off;'],
      {
        ready: () => until(() => listens(this.port)),
        cure: 'Install it with: apt-get install nginx',
      },
    );
  }

  async stop() {
    await endProgram(this.#child, 'SIGQUIT');
  }

  /** Request id → { status, tried: [ports], statuses, connected: [seconds, or - when it was not] }. */
  account() {
    const lines = readFileSync(join(this.#folder, 'account.log'), 'utf8').split('\n').filter(Boolean);
    return new Map(
      lines.map((line) => {
        const [request_id, status, addresses, statuses, connected] = line.split('|');
        const tried = addresses.split(', ').map((address) => Number(address.split(':')[1]));
        return [
          request_id,
          { status: Number(status), tried, statuses: statuses.split(', '), connected: connected.split(', ') },
        ];
      }),
    );
  }

  #configuration() {
    const servers = this.#upstreams.map((port) => `    server 127.0.0.1:${port} max_fails=0;`).join('\n');
    return readFileSync(new URL('./nginx.conf', import.meta.url), 'utf8')
      .replace('USER', process.getuid() === 0 ? 'user root;' : '')
      .replace('SERVERS', servers)
      .replace('PORT', String(this.port));
  }
}

function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
