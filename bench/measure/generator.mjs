// The generator's processes, each kept for job after job: one started anew for every window would spend it in code that its
// JIT compilers have not seen yet, on the CPUs that the server needs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const loader = fileURLToPath(new URL('loader.mjs', import.meta.url));

export class Generators {
  /** By the CPUs that they run on. */
  #up = new Map();

  /** One job, on the CPUs of `cores` (as taskset takes them) when given. Answers a window, for measure/sample.mjs. */
  async load(job, cores) {
    const generator = this.#up.get(cores) ?? this.#start(cores);
    generator.child.send(job);
    const [window] = await Promise.race([once(generator.child, 'message'), generator.lost]);
    return window;
  }

  stop() {
    for (const { child } of this.#up.values()) child.disconnect();
    this.#up.clear();
  }

  #start(cores) {
    const [command, ...args] = [...(cores ? ['taskset', '-c', cores] : []), process.execPath, loader];
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const generator = {
      child,
      lost: once(child, 'exit').then(([code]) => {
        this.#up.delete(cores);
        throw new Error(`The generator of load ended with ${code} and no window`);
      }),
    };
    generator.lost.catch(() => {}); // it ends as it should
    this.#up.set(cores, generator);
    return generator;
  }
}
