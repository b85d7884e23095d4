// Debian's packages: which are missing, how to install them, and how to unpack single ones without
// installing.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, run, SetupError } from './run.mjs';

const nextRelease = 'trixie';

export const isDebian = () => ask('dpkg-query', ['--version']) !== undefined;

/** Returns those of `names` that are not installed. */
export function missingPackages(names) {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own format
  const query = ask('dpkg-query', ['-W', '-f', '${Package} ${db:Status-Status}\n']) ?? '';
  const installed = new Set(
    query
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ')[0]),
  );
  return names.filter((name) => !installed.has(name));
}

/** Installs as root or through a sudo without a password; otherwise prints the command to type. */
export async function installPackages(names) {
  const install = ['install', '-y', '--no-install-recommends', ...names];
  const byHand = `sudo apt-get update && sudo apt-get ${install.join(' ')}`;
  const root = process.getuid?.() === 0;
  if (!root && ask('sudo', ['-n', 'true']) === undefined) {
    throw new SetupError(
      `These Debian packages are missing: ${names.join(', ')}\nInstall them with:\n  ${byHand}`,
    );
  }
  const cure = `Installing Debian packages failed. Try it by hand:\n  ${byHand}`;
  // C: the messages that waitForLock() reads are in English.
  const env = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const asRoot = (command, args) =>
    waitForLock(() =>
      run(root ? command : 'sudo', root ? args : ['-n', '-E', command, ...args], { env, cure }),
    );
  await asRoot('apt-get', ['update']);
  await asRoot('sh', ['-c', quietly, 'sh', ...install]);
}

const lockWait_ms = 15 * 60_000;
const lockRetry_ms = 2000;

/** apt's message when another program holds one of its locks: the frontend's, the package lists', or the archives'. */
const lockHeld = /Could not get lock (\S+?)\.? (?:It is held by (process \d+(?: \([^)]*\))?)|- open)/;

/**
 * Repeats a command of apt while another program, such as the unattended upgrades of a new machine, holds a lock that it needs.
 * `DPkg::Lock::Timeout` would cover dpkg's lock only, not that of the package lists. Gives up after 15 minutes.
 */
export async function waitForLock(act, { limit_ms = lockWait_ms, retry_ms = lockRetry_ms } = {}) {
  const start = performance.now();
  let reportedHolder;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const [, file, holder = 'another program'] = lockHeld.exec(error.message) ?? [];
      if (file === undefined || performance.now() - start > limit_ms) throw error;
      if (holder !== reportedHolder) process.stderr.write(`• waiting for apt: ${holder} holds ${file}\n`);
      reportedHolder = holder;
      await sleep(retry_ms);
    }
  }
}

/** All files of packages of one release of Debian, by its code name. */
export const unpackPackages = (names, release, target, cure) =>
  unpack({ names, release, files: ['.'] }, target, cure);

/** Packages of Debian's next release, all of each. */
export const unpackFromNextRelease = (names, target, cure) =>
  unpackPackages(names, nextRelease, target, cure);

/** Single files of one package of the running release. */
export const unpackFiles = (name, files, target, cure) =>
  unpack({ names: [name], release: thisRelease(), files: files.map((file) => `.${file}`) }, target, cure);

/** The running release. */
export const thisRelease = () =>
  /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';

/**
 * Debian starts a service as soon as its package is installed, and at every boot. The tests start
 * redis-server, nginx, haproxy and caddy themselves, on their own ports; so a policy prevents it during the
 * installation (Debian Policy 9.3.3.1), and new services are disabled.
 */
const quietly = `set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > $policy
  chmod 755 $policy
fi
apt-get "$@"
for service in redis-server nginx caddy haproxy logrotate.timer; do
  case " $* " in *" \${service%.timer} "*) ;; *) continue ;; esac
  if [ -e /etc/init.d/$service ]; then update-rc.d $service disable
  elif command -v systemctl > /dev/null; then systemctl disable $service
  fi
done`;

/** Returns the mirror that apt uses here: Debian's own if there are several. Throws a SetupError. */
export function ownMirror(cure = '') {
  const format = '$(SITE) $(ORIGIN)';
  const reportedHolder = ask('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']) ?? '';
  const sites = reportedHolder.split('\n').filter((line) => line && !line.includes('security'));
  const mirror = (sites.find((line) => line.endsWith(' Debian')) ?? sites[0])?.split(' ')[0];
  if (!mirror) throw new SetupError(`apt knows no mirror (run apt-get update once as root).\n${cure}`);
  return mirror;
}

/** Unpacks a source of Debian's archive, such as `pool/main/z/zlib/zlib_1.3.orig.tar.gz`, whose checksum apt checks. */
export async function unpackSource({ path, sha256 }, target, cure) {
  const archive = `${target}.tar`;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const download = ['download-file', `${ownMirror(cure)}/${path}`, archive, `SHA256:${sha256}`];
  await run('/usr/lib/apt/apt-helper', ['-o', 'APT::Sandbox::User=', ...download], { cure });
  await run('tar', ['--extract', '--file', archive, '--directory', target, '--strip-components=1'], {
    cure,
  });
  rmSync(archive);
}

/**
 * Writes a configuration for a private run of apt in the folder `work`, and returns its file, for APT_CONFIG.
 * It takes only the proxies from the system's own configuration: packages such as apt-file and appstream
 * would make apt fetch further indexes.
 */
export function privateConfiguration(work) {
  const file = join(work, 'apt.conf');
  const settings = {
    'Dir::Etc::main': '/dev/null',
    'Dir::Etc::parts': '/dev/null',
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': join(work, 'lists'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(work, 'cache'),
    'APT::Sandbox::User': '',
    // No translations.
    'Acquire::Languages': 'none',
  };
  const proxies = (ask('apt-config', ['dump']) ?? '').split('\n').filter((line) => proxy.test(line));
  const lines = [...Object.entries(settings).map(([key, value]) => `${key} "${value}";`), ...proxies];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

/** A line of `apt-config dump`, also for one host or with a command that finds the proxy. */
const proxy = /^Acquire::(\w+::)?Proxy(-Auto-Detect)?(::\S+)? ".+";$/i;

/**
 * Downloads packages into `target` and unpacks them there, without touching the system's own package lists: apt runs on
 * a private configuration with the system's own mirror, keys and proxies. Needs no root.
 */
async function unpack({ names, release, files }, target, cure) {
  const work = resolve(`${target}.download`); // apt resolves relative paths against its own folders
  rmSync(work, { recursive: true, force: true });
  for (const folder of ['lists/partial', 'cache/archives/partial', 'tree'])
    mkdirSync(join(work, folder), { recursive: true });
  const mirror = ownMirror(cure);
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const signed = existsSync(keys) ? `[signed-by=${keys}] ` : '';
  writeFileSync(join(work, 'sources.list'), `deb ${signed}${mirror} ${release} main\n`);
  const env = { APT_CONFIG: privateConfiguration(work) };
  await run('apt-get', ['update'], { env, cure });
  await run('apt-get', ['download', ...names], { cwd: work, env, cure });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: bash's own
  const extract = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --directory "$2" "${@:3}"';
  for (const archive of readdirSync(work).filter((file) => file.endsWith('.deb'))) {
    const parts = [join(work, archive), join(work, 'tree'), ...files];
    await run('bash', ['-o', 'pipefail', '-c', extract, 'bash', ...parts], { cure });
  }
  rmSync(target, { recursive: true, force: true });
  renameSync(join(work, 'tree'), target);
  rmSync(work, { recursive: true, force: true });
}
