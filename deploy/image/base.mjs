// The images that the Dockerfile builds on, made from what they are made of: an engine would pull them.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { debootstrap } from '../../scripts/lib/debian-root.mjs';

/** What Debian's slim images leave out, and tell dpkg to leave out. Copyrights stay. */
const slim = ['doc', 'info', 'linda', 'lintian/overrides', 'locale', 'man'];

/** Image name → how to fill a folder with it. */
const makers = [
  [/^debian:(\w+)-slim$/, ([, suite], tools) => makeDebian(suite, tools)],
  [/^node:(\d+)-(\w+)-slim$/, ([, major, suite], tools) => makeNode(major, suite, tools)],
];

/** `tools`: { folder, base(image), run(command) }. Throws for an image that it does not know. */
export async function makeBase(image, tools) {
  for (const [pattern, make] of makers) {
    const match = pattern.exec(image);
    if (match !== null) return make(match, tools);
  }
  throw new Error(`How ${image} is made is not known here`);
}

/** debian:SUITE-slim is debootstrap's smallest variant without manuals, translations and leftovers. */
async function makeDebian(suite, { folder, run }) {
  await run(debootstrap(folder, suite, []));
  const share = join(folder, 'usr/share');
  const excludes = slim.map((name) => `path-exclude /usr/share/${name}/*\n`).join('');
  const includes = 'path-include /usr/share/doc/*/copyright\npath-include /usr/share/locale/locale.alias\n';
  writeFileSync(join(folder, 'etc/dpkg/dpkg.cfg.d/docker'), excludes + includes);
  for (const file of readdirSync(join(share, 'doc'), { recursive: true, withFileTypes: true })) {
    if (!file.isDirectory() && file.name !== 'copyright') rmSync(join(file.parentPath, file.name));
  }
  for (const name of slim.filter((name) => name !== 'doc')) emptyFolder(join(share, name), ['locale.alias']);
  for (const path of ['dev', 'var/cache/apt', 'var/lib/apt/lists', 'var/log', 'var/cache/debconf'])
    emptyFolder(join(folder, path));
  rmSync(join(folder, 'var/cache/ldconfig/aux-cache'), { force: true });
  for (const name of readdirSync(join(folder, 'var/lib/dpkg')))
    if (name.endsWith('-old')) rmSync(join(folder, 'var/lib/dpkg', name));
  // An engine gives these to each container; debootstrap took the machine's.
  for (const file of ['resolv.conf', 'hosts', 'hostname', 'apt/sources.list'])
    writeFileSync(join(folder, 'etc', file), '');
}

function emptyFolder(folder, keep = []) {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder))
    if (!keep.includes(name)) rmSync(join(folder, name), { recursive: true });
}

/**
 * node:MAJOR-SUITE-slim is Debian's image with Node's own archive in /usr/local. The npm packages node-linux-* have the
 * same program; npm is a package of its own there. (The official image has Yarn as well, and a user `node`.)
 */
async function makeNode(major, suite, { folder, base, run }) {
  await run(['cp', '-a', '--reflink=auto', await base(`debian:${suite}-slim`), folder]);
  const local = join(folder, 'usr/local');
  const unpacked = async (spec) => {
    const target = `${folder}.package`;
    mkdirSync(target);
    await run(['npm', 'pack', '--pack-destination', target, spec]);
    await run([
      'tar',
      '--extract',
      '--no-same-owner',
      '--file',
      join(target, readdirSync(target)[0]),
      '-C',
      target,
    ]);
    return target;
  };
  const node = await unpacked(`node-linux-${process.arch}@${major}`);
  for (const name of ['bin', 'include', 'LICENSE'])
    cpSync(join(node, 'package', name), join(local, name), { recursive: true });
  rmSync(node, { recursive: true });
  chmodSync(join(local, 'bin/node'), 0o755);
  const npm = await unpacked('npm@11');
  mkdirSync(join(local, 'lib/node_modules'), { recursive: true });
  renameSync(join(npm, 'package'), join(local, 'lib/node_modules/npm'));
  rmSync(npm, { recursive: true });
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
}

/**
 * A folder with what this machine is set to for its network, to be seen at `mount` while building: mirrors, proxies,
 * registry, certificates. Nothing of it comes into an image. Answers the environment that points there.
 */
export function ownNetwork(folder, mount, suite, { mirrors, settings, aptSettings, npmFiles }) {
  mkdirSync(folder, { recursive: true });
  const lines = [`deb ${mirrors.main} ${suite} main`, `deb ${mirrors.main} ${suite}-updates main`];
  if (mirrors.security !== undefined) lines.push(`deb ${mirrors.security} ${suite}-security main`);
  writeFileSync(join(folder, 'sources.list'), `${lines.join('\n')}\n`);
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  copyFileSync(certificates, join(folder, 'certificates.crt'));
  writeFileSync(
    join(folder, 'apt.conf'),
    `${aptSettings}\nDir::Etc::sourcelist "${mount}/sources.list";\nAcquire::https::CAInfo "${mount}/certificates.crt";\n`,
  );
  const env = {
    ...settings,
    APT_CONFIG: `${mount}/apt.conf`,
    NODE_EXTRA_CA_CERTS: `${mount}/certificates.crt`,
  };
  for (const [name, file] of Object.entries(npmFiles)) {
    writeFileSync(join(folder, name), readFileSync(file));
    env[`npm_config_${name}`] = `${mount}/${name}`;
  }
  return env;
}
