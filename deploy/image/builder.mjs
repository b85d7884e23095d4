// Carries out the instructions of a Dockerfile, each stage in a folder of its own: the file system, not its layers.
import { cpSync, existsSync, mkdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeBase } from './base.mjs';
import { parseDockerfile, parseMount, substitute } from './dockerfile.mjs';
import { contextFiles, readIgnore } from './ignore.mjs';
import { sandboxed } from './sandbox.mjs';

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Where building sees this machine's network settings. */
export const networkMount = '/run/network';

/**
 * `folder` is where images, stages and caches are made, `context` the project. `network` is { folder, env }: what to bind
 * at `networkMount`, and the environment that points there. `run(argv, env)` resolves when a command has ended well;
 * `tell(line)` is told each instruction.
 */
export class Builder {
  #options;
  #caches = new Map();
  #stages = new Map();
  #args = {};

  constructor(options) {
    this.#options = options;
  }

  /** { root, config, base }: of the last stage, and the folder of the image that it is built on. */
  async build(args = {}) {
    const { context, tell } = this.#options;
    const dockerfile = parseDockerfile(readFileSync(join(context, 'Dockerfile'), 'utf8'));
    for (const { name, value } of dockerfile.args) this.#args[name] = args[name] ?? value;
    let last;
    for (const [index, stage] of dockerfile.stages.entries()) {
      const image = substitute(stage.image, this.#args);
      tell(`FROM ${image}`);
      last = await this.#stage(stage, image, String(stage.name ?? index), args);
      this.#stages.set(stage.name, last);
    }
    return last;
  }

  /** One that was built, by its name. */
  stage(name) {
    return this.#stages.get(name);
  }

  /** Folder of an image, made when it is first asked for. */
  async base(image) {
    const folder = this.#folder('base', image.replaceAll(/[^\w.-]/g, '-'));
    if (existsSync(`${folder}.made`)) return folder;
    const { run } = this.#options;
    await makeBase(image, { folder, base: (other) => this.base(other), run });
    mkdirSync(`${folder}.made`);
    return folder;
  }

  #folder(kind, name) {
    const parent = join(this.#options.folder, kind);
    mkdirSync(parent, { recursive: true });
    return join(parent, name);
  }

  async #stage({ instructions }, image, name, args) {
    const { run, tell } = this.#options;
    const base = await this.base(image);
    const root = this.#folder('stage', name);
    await run(['rm', '-rf', root]);
    await run(['cp', '-a', '--reflink=auto', base, root]);
    const config = { env: { PATH: path }, labels: {}, ports: [], user: { uid: 0, gid: 0 }, folder: '/' };
    const stage = { root, base, config, values: {}, args };
    for (const instruction of instructions) {
      tell(describe(instruction));
      await this.#steps[instruction.keyword].call(this, stage, instruction);
    }
    return stage;
  }

  /** Keyword → what it does to a stage. */
  #steps = {
    ARG: (stage, { name, value }) => {
      stage.values[name] = stage.args[name] ?? value;
    },
    CMD: ({ config }, { command }) => {
      config.command = command;
    },
    COPY: (stage, instruction) => this.#copy(stage, instruction),
    ENTRYPOINT: ({ config }, { command }) => {
      config.entrypoint = command;
    },
    ENV: ({ config, values }, { pairs }) => {
      const known = { ...values, ...config.env };
      for (const [name, value] of pairs) config.env[name] = substitute(value, known);
    },
    EXPOSE: ({ config }, { port }) => {
      config.ports.push(port);
    },
    HEALTHCHECK: ({ config }, { command, flags }) => {
      config.healthcheck = { command, ...Object.fromEntries(flags) };
    },
    LABEL: ({ config, values }, { pairs }) => {
      for (const [name, value] of pairs)
        config.labels[name] = substitute(value, { ...values, ...config.env });
    },
    RUN: (stage, instruction) => this.#run(stage, instruction),
    STOPSIGNAL: ({ config }, { signal }) => {
      config.signal = signal;
    },
    USER: ({ config }, { uid, gid }) => {
      config.user = { uid, gid };
    },
    WORKDIR: ({ root, config }, { folder }) => {
      config.folder = folder;
      mkdirSync(join(root, folder), { recursive: true });
    },
  };

  /** As Docker does: of a folder what is in it, a file into a target that ends in a slash or is a folder. */
  #copy({ root, config }, { sources, target, flags }) {
    const from = flags.find(([name]) => name === 'from')?.[1];
    const { context } = this.#options;
    const lets =
      from === undefined ? readIgnore(readFileSync(join(context, '.dockerignore'), 'utf8')) : undefined;
    const place = join(root, target.startsWith('/') ? '' : config.folder, target);
    if (sources.length > 1 && !target.endsWith('/'))
      throw new Error(`COPY of several: ${target} has no slash`);
    for (const source of sources) {
      const origin = join(from === undefined ? context : this.#stages.get(from).root, source);
      const isFolder = statSync(origin).isDirectory();
      if (lets === undefined) {
        cpSync(origin, placeOf(place, source, isFolder), { recursive: true, verbatimSymlinks: true });
        continue;
      }
      const files = isFolder ? contextFiles(context, lets, source) : [source].filter(lets);
      if (files.length === 0) throw new Error(`COPY ${source}: .dockerignore lets nothing of it through`);
      for (const file of files) {
        const inner = isFolder ? join(place, file.slice(source.length)) : placeOf(place, source, false);
        mkdirSync(dirname(inner), { recursive: true });
        cpSync(join(context, file), inner);
      }
    }
  }

  async #run({ root, config, values }, { shell, command, flags }) {
    const { network, run } = this.#options;
    const mounts = flags
      .filter(([name]) => name === 'mount')
      .map(([, text]) => this.#mount(parseMount(text)));
    const binds = [
      { source: network.folder, target: networkMount, readOnly: true },
      ...['/etc/resolv.conf', '/etc/hosts'].map((file) => ({ source: file, target: file, readOnly: true })),
      ...mounts,
    ];
    const made = mounts.filter(
      ({ target }) => !target.startsWith('/run/') && !existsSync(join(root, target)),
    );
    for (const { target } of made) mkdirSync(join(root, target), { recursive: true });
    const home = config.user.uid === 0 ? '/root' : '/nonexistent';
    const env = { HOME: home, ...network.env, ...values, ...config.env };
    const place = { root, binds, network: true, user: config.user, folder: config.folder };
    await run(sandboxed(place, command ?? ['/bin/sh', '-c', shell]), env);
    for (const { target } of made) rmdirSync(join(root, target));
  }

  #mount({ type, target, from, source, sharing, ...rest }) {
    const unknown = Object.keys(rest);
    if (unknown.length > 0 || (type !== 'cache' && type !== 'bind'))
      throw new Error(`RUN --mount=type=${type}: ${unknown} is not understood here`);
    if (type === 'bind') return { source: join(this.#stages.get(from).root, source), target, readOnly: true };
    let cache = this.#caches.get(target);
    if (cache === undefined) {
      cache = this.#folder('cache', target.replaceAll('/', '-'));
      mkdirSync(cache, { recursive: true });
      this.#caches.set(target, cache);
    }
    return { source: cache, target };
  }
}

const placeOf = (place, source, isFolder) =>
  !isFolder && (place.endsWith('/') || (existsSync(place) && statSync(place).isDirectory()))
    ? join(place, source.split('/').at(-1))
    : place;

function describe({ keyword, shell, command, sources, target, line }) {
  const rest =
    shell?.replaceAll(/\s+/g, ' ') ?? command?.join(' ') ?? (sources && [...sources, target].join(' '));
  return `${String(line).padStart(4)} ${keyword} ${rest ?? ''}`.trimEnd().slice(0, 110);
}
