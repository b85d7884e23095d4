// A key file as Kubernetes mounts a Secret: a link to a file in a folder that a link `..data` leads to, which is swapped.
import { chmodSync, chownSync, cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Container } from './container.mjs';

export class Secret {
  /** Where the image itself makes keys, as its users do. */
  #origin;
  #folder;
  #image;
  /** In the order in which they were made. */
  keys = [];

  constructor(folder, image) {
    this.#image = image;
    this.#origin = join(folder, 'keys');
    this.#folder = join(folder, 'secret');
    for (const path of [this.#origin, this.#folder]) {
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path);
    }
    chownSync(this.#origin, image.config.user.uid, image.config.user.gid);
    symlinkSync('..data/keys.json', join(this.#folder, 'keys.json'));
  }

  get binds() {
    return [{ source: this.#folder, target: '/etc/facematch', readOnly: true }];
  }

  /** Makes one in a container, and swaps it in with those before. Answers it. */
  async addKey() {
    const binds = [{ source: this.#origin, target: '/etc/facematch' }];
    const args = ['keys', 'create', '--name', `key-${this.keys.length}`];
    const { code, stdout, stderr } = await new Container(this.#image, { args, binds }).output();
    if (code !== 0) throw new Error(`facematch keys create ended with ${code}:\n${stderr}`);
    this.keys.push(stdout.trim());
    this.#swap();
    return stdout.trim();
  }

  /** Readable by the group, as fsGroup makes it. */
  #swap() {
    const version = `..${this.keys.length}`;
    mkdirSync(join(this.#folder, version));
    const file = join(this.#folder, version, 'keys.json');
    cpSync(join(this.#origin, 'keys.json'), file);
    chownSync(file, 0, this.#image.config.user.gid);
    chmodSync(file, 0o640);
    symlinkSync(version, join(this.#folder, '..next'));
    renameSync(join(this.#folder, '..next'), join(this.#folder, '..data'));
  }
}
