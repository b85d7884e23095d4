// Creates a Debian root folder with only Node.js, npm and git, and runs commands in it. Needs root, debootstrap and
// unshare.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownMirror } from './debian.mjs';

/** Environment variables for proxies and certificates, which the commands inside also need. */
const network = /^(?:https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_\w+|npm_config_\w+)$/i;

const ask = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' }).trim();

/** Throws an Error with advice if `who` does not run as root, or if a required program is missing. */
export function requireTools(who) {
  if (process.getuid?.() !== 0) throw new Error(`${who} must run as root, because it uses chroot and mount.`);
  for (const [tool, name] of Object.entries({ debootstrap: 'debootstrap', unshare: 'util-linux' })) {
    if (spawnSync(tool, ['--version']).error)
      throw new Error(`${who} needs ${tool}: apt-get install ${name}`);
  }
}

/** Beginning of a command line that runs a command in its own mount and process namespaces. */
const isolated = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];

/**
 * Returns a command line that runs `command` with `folder` as its root. Mounts are invisible to other processes, and
 * are removed when the command exits or is killed.
 */
export function inside(folder, command) {
  const mounts =
    'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm"';
  const script = `${mounts} && root=$1 && shift && exec chroot "$root" "$@"`;
  return [...isolated, 'sh', '-c', script, 'sh', folder, ...command];
}

/** Returns the debootstrap command for `folder`, with the packages of `include`. `arch` is Node's name of the CPU. */
export function debootstrap(folder, suite, arch, include = 'ca-certificates,git,libatomic1') {
  const options = ['--variant=minbase', `--arch=${arch.replace('x64', 'amd64')}`, `--include=${include}`];
  return [...isolated, '--mount-proc', 'debootstrap', ...options, suite, folder, ownMirror()];
}

/**
 * Adds the machine's network settings, Node.js and npm, and returns the environment for commands. Copies the running
 * Node.js binary; for another CPU or major version (`node`), downloads one from npm.
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
  // The same layout as Node's archives.
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
