// A container of an image that was built here: read-only, as its user, without network, shell, or any right to get more.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { beside, sandboxed } from './sandbox.mjs';

/** Nothing in a container may need them. */
const shells = ['/usr/bin/sh', '/usr/bin/dash', '/usr/bin/bash'];

/** { code, signal, stdout, stderr } of a command that ends by itself. */
async function outcome([command, ...args], env) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, stdout, stderr };
}

/** `image` is { root, config }; `args` take the place of its CMD; `binds` are mounts. */
export class Container {
  #child;
  #image;
  #stdout = '';
  #stderr = '';
  #said;
  /** { code, signal } */
  ended;

  constructor(image, { args = image.config.command, binds = [] } = {}) {
    const { root, config } = image;
    this.#image = image;
    const place = { root, binds, readOnly: true, hidden: shells, user: config.user, folder: config.folder };
    const [command, ...rest] = sandboxed(place, [...config.entrypoint, ...args]);
    this.#child = spawn(command, rest, { env: config.env, stdio: ['ignore', 'pipe', 'pipe'] });
    const kill = () => this.#child.kill('SIGKILL');
    process.once('exit', kill);
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      process.off('exit', kill);
      return { code, signal };
    });
    this.#said = once(this.#child.stdout, 'data');
    this.#child.stdout.on('data', (text) => {
      this.#stdout += text;
    });
    this.#child.stderr.on('data', (text) => {
      this.#stderr += text;
    });
  }

  get log() {
    return this.#stderr;
  }

  /** Of one that ends by itself: { code, signal, stdout, stderr }. */
  async output() {
    return { ...(await this.ended), stdout: this.#stdout, stderr: this.#stderr };
  }

  /** Resolves when it says on standard output that it serves. */
  async ready() {
    const dead = this.ended.then(({ code, signal }) => {
      throw new Error(`The container ended with ${code ?? signal}:\n${this.log}`);
    });
    await Promise.race([this.#said, dead]);
    dead.catch(() => {});
  }

  /** Of the first process, as the machine numbers it. */
  get pid() {
    const { pid } = this.#child;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
  }

  /** As `docker exec`. */
  exec(command) {
    const { config } = this.#image;
    return outcome(beside(this.pid, config.user, config.folder, command), config.env);
  }

  /** A program of this machine that sees the container's network. */
  visit(command, env) {
    return outcome(['nsenter', `--target=${this.pid}`, '--net', ...command], { ...process.env, ...env });
  }

  signal(name) {
    process.kill(this.pid, name);
  }
}
