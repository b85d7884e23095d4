// Debian's redis-server on a port of its own, in memory alone.
import { connect } from 'node:net';
import { endProgram, startProgram, until } from './process.mjs';

export class RedisServer {
  #port;
  #folder;
  #child;

  constructor(port, folder) {
    this.#port = port;
    this.#folder = folder;
  }

  get url() {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** Milliseconds of its clock. */
  async now() {
    const [, , seconds, , microseconds] = (await ask(this.#port, 'TIME')).split('\r\n');
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  }

  /** When the bucket of a key was last asked, in milliseconds of Redis's clock; it must not have filled up since. */
  async decidedAt(key) {
    const [, id] = key.split('_');
    const [, text] = (await ask(this.#port, `GET facematch:bucket:${id}`)).split('\r\n');
    return Number(text.split(' ')[1]);
  }

  get pid() {
    return this.#child.pid;
  }

  async start() {
    const args = ['--port', String(this.#port), '--bind', '127.0.0.1', '--save', '', '--dir', this.#folder];
    this.#child = await startProgram('redis-server', args, {
      ready: () => until(() => pong(this.#port)),
      cure: 'Install it with: apt-get install redis-server',
    });
  }

  /** At once, with all that is in it. */
  async kill() {
    await endProgram(this.#child, 'SIGKILL');
  }

  async stop() {
    await endProgram(this.#child, 'SIGTERM');
  }
}

/** The answer to one command, as Redis writes it. Rejects where nothing listens. */
function ask(port, command) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`));
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      resolve(answer.toString());
    });
  });
}

async function pong(port) {
  try {
    return (await ask(port, 'PING')).startsWith('+PONG');
  } catch {
    return false;
  }
}
