// A Debian with only Node, npm and git, like a fresh machine. Needs root, debootstrap and unshare.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownMirror } from './debian.mjs';

/** Names of environment variables for proxies and certificates, which a real machine would have as well. */
const network = /^(?:https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_\w+|npm_config_\w+)$/i;

const ask = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' }).trim();

/** `who` needs root and these programs. Throws an Error with advice. */
export function requireTools(who) {
  if (process.getuid?.() !== 0) throw new Error(`${who} needs root: chroot and mounts.`);
  for (const [tool, name] of Object.entries({ debootstrap: 'debootstrap', unshare: 'util-linux' })) {
    if (spawnSync(tool, ['--version']).error)
      throw new Error(`${who} needs ${tool}: apt-get install ${name}`);
  }
}

/** Runs a command in namespaces of its own. */
const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];

/**
 * Returns a command line that runs another with `folder` as its root. Mounts and processes are in separate
 * namespaces, which end with the first process, however that ends, and nothing is ever mounted that other
 * processes would see.
 */
export function inside(folder, command) {
  const mounts =
    'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm"';
  const script = `${mounts} && root=$1 && shift && exec chroot "$root" "$@"`;
  return [...apart, 'sh', '-c', script, 'sh', folder, ...command];
}

/** Returns the command that fills `folder`, also with the packages of `include`. `arch` in Node's terms. */
export function debootstrap(folder, suite, arch, include = 'ca-certificates,git,libatomic1') {
  const options = ['--variant=minbase', `--arch=${arch.replace('x64', 'amd64')}`, `--include=${include}`];
  return [...apart, '--mount-proc', 'debootstrap', ...options, suite, folder, ownMirror()];
}

/**
 * Adds the machine's network settings, Node and npm. Node is the running one; for another CPU or major
 * version (`node`) it comes from npm. Returns the environment.
 */
export function furnish(folder, { arch = process.arch, node = '' } = {}) {
  const settings = ask('apt-config', 'dump', 'Acquire');
  writeFileSync(join(folder, 'etc/apt/apt.conf.d/99own'), `${settings}\n`);
  for (const file of ['/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs/ca-certificates.crt'])
    if (existsSync(file)) copyFileSync(file, join(folder, file));
  for (const name of ['userconfig', 'globalconfig']) {
    const file = ask('npm', 'config', 'get', name);
    if (!existsSync(file)) continue;
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    copyFileSync(file, join(folder, file));
  }
  const prefix = dirname(dirname(process.execPath));
  // Laid out like Node's own archives: the program, its headers, npm.
  for (const part of ['bin/node', 'bin/npm', 'bin/npx', 'include/node', 'lib/node_modules/npm']) {
    if (existsSync(join(prefix, part)))
      cpSync(join(prefix, part), join(folder, prefix, part), { recursive: true, verbatimSymlinks: true });
  }
  const [own] = process.versions.node.split('.');
  if (arch !== process.arch || (node !== '' && node !== own)) {
    const spec = `node-linux-${arch}@${node || own}`;
    const name = ask('npm', 'pack', '--silent', '--pack-destination', folder, spec).split('\n').at(-1);
    const unpack = ['-xzf', join(folder, name), '-C', join(folder, prefix), '--strip-components=1'];
    execFileSync('tar', [...unpack, 'package/bin', 'package/include']);
    rmSync(join(folder, name));
    chmodSync(join(folder, prefix, 'bin/node'), 0o755);
  }
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => network.test(name))),
    PATH: `${prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: process.env.HOME ?? '/root',
    LANG: 'C.UTF-8',
  };
}
