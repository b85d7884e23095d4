// Finds and installs missing Debian packages, and unpacks single packages without installing them.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, run, SetupError } from './run.mjs';

const nextRelease = 'trixie';

export const isDebian = () => ask('dpkg-query', ['--version']) !== undefined;

/** Returns the names of packages that are not installed. */
export function missingPackages(names) {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of dpkg-query
  const query = ask('dpkg-query', ['-W', '-f', '${Package} ${db:Status-Status}\n']) ?? '';
  const installed = new Set(
    query
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ')[0]),
  );
  return names.filter((name) => !installed.has(name));
}

/** Installs packages as root, or with sudo if it needs no password. Otherwise rejects with the command to run. */
export async function installPackages(names) {
  const install = ['install', '-y', '--no-install-recommends', ...names];
  const byHand = `sudo apt-get update && sudo apt-get ${install.join(' ')}`;
  const root = process.getuid?.() === 0;
  if (!root && ask('sudo', ['-n', 'true']) === undefined) {
    throw new SetupError(
      `These Debian packages are missing: ${names.join(', ')}\nInstall them with:\n  ${byHand}`,
    );
  }
  const advice = `Installing Debian packages failed. Run it yourself:\n  ${byHand}`;
  // LC_ALL=C, because waitForLock() parses English messages.
  const env = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const asRoot = (command, args) =>
    waitForLock(() =>
      run(root ? command : 'sudo', root ? args : ['-n', '-E', command, ...args], { env, advice }),
    );
  await asRoot('apt-get', ['update']);
  await asRoot('sh', ['-c', quietly, 'sh', ...install]);
}

const lockWait_ms = 15 * 60_000;
const lockRetry_ms = 2000;

/** apt's message if another program holds one of its locks. */
const lockHeld = /Could not get lock (\S+?)\.? (?:It is held by (process \d+(?: \([^)]*\))?)|- open)/;

/**
 * Retries an apt command for up to 15 minutes while another program holds apt's lock, such as unattended-upgrades on a
 * new machine. `DPkg::Lock::Timeout` is not enough: it covers dpkg's lock, but not the lock of the package lists.
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

/** Unpacks whole packages of a Debian release, given by its code name. */
export const unpackPackages = (names, release, target, advice) =>
  unpack({ names, release, files: ['.'] }, target, advice);

/** Unpacks whole packages of Debian's next release. */
export const unpackFromNextRelease = (names, target, advice) =>
  unpackPackages(names, nextRelease, target, advice);

/** Unpacks single files of a package of the running release. */
export const unpackFiles = (name, files, target, advice) =>
  unpack({ names: [name], release: thisRelease(), files: files.map((file) => `.${file}`) }, target, advice);

/** Returns the code name of the running release. */
export const thisRelease = () =>
  /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';

/**
 * Script that installs packages without starting their services, now or at boot. The tests start redis-server, nginx,
 * haproxy and caddy themselves, on their own ports. policy-rc.d prevents the start during the installation (Debian
 * Policy 9.3.3.1).
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

/** Returns the URL of a mirror that apt uses, preferably with origin Debian. Throws a SetupError if there is none. */
export function ownMirror(advice = '') {
  const format = '$(SITE) $(ORIGIN)';
  const targets = ask('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']) ?? '';
  const sites = targets.split('\n').filter((line) => line && !line.includes('security'));
  const mirror = (sites.find((line) => line.endsWith(' Debian')) ?? sites[0])?.split(' ')[0];
  if (!mirror) throw new SetupError(`apt has no package lists. Run apt-get update as root.\n${advice}`);
  return mirror;
}

/** Downloads and unpacks a source of Debian's archive, such as `pool/main/z/zlib/zlib_1.3.orig.tar.gz`. */
export async function unpackSource({ path, sha256 }, target, advice) {
  const archive = `${target}.tar`;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const download = ['download-file', `${ownMirror(advice)}/${path}`, archive, `SHA256:${sha256}`];
  await run('/usr/lib/apt/apt-helper', ['-o', 'APT::Sandbox::User=', ...download], { advice });
  await run('tar', ['--extract', '--file', archive, '--directory', target, '--strip-components=1'], {
    advice,
  });
  rmSync(archive);
}

/**
 * Writes an apt configuration that uses only the folder `work`, and returns its path, for APT_CONFIG. Copies only the
 * proxies from the system's configuration, because packages such as apt-file and appstream add further indexes to it.
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
    'Acquire::Languages': 'none',
  };
  const proxies = (ask('apt-config', ['dump']) ?? '').split('\n').filter((line) => proxy.test(line));
  const lines = [...Object.entries(settings).map(([key, value]) => `${key} "${value}";`), ...proxies];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

/** A proxy line of `apt-config dump`, for all hosts or for one, with a URL or a command that detects the proxy. */
const proxy = /^Acquire::(\w+::)?Proxy(-Auto-Detect)?(::\S+)? ".+";$/i;

/**
 * Downloads packages and unpacks them into `target`. Does not need root, and does not change the system's package
 * lists: apt runs with a private configuration and the system's mirror, keys and proxies.
 */
async function unpack({ names, release, files }, target, advice) {
  const work = resolve(`${target}.download`); // apt resolves relative paths against its own folders
  rmSync(work, { recursive: true, force: true });
  for (const folder of ['lists/partial', 'cache/archives/partial', 'tree'])
    mkdirSync(join(work, folder), { recursive: true });
  const mirror = ownMirror(advice);
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const signed = existsSync(keys) ? `[signed-by=${keys}] ` : '';
  writeFileSync(join(work, 'sources.list'), `deb ${signed}${mirror} ${release} main\n`);
  const env = { APT_CONFIG: privateConfiguration(work) };
  await run('apt-get', ['update'], { env, advice });
  await run('apt-get', ['download', ...names], { cwd: work, env, advice });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of bash
  const extract = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --directory "$2" "${@:3}"';
  for (const archive of readdirSync(work).filter((file) => file.endsWith('.deb'))) {
    const parts = [join(work, archive), join(work, 'tree'), ...files];
    await run('bash', ['-o', 'pipefail', '-c', extract, 'bash', ...parts], { advice });
  }
  rmSync(target, { recursive: true, force: true });
  renameSync(join(work, 'tree'), target);
  rmSync(work, { recursive: true, force: true });
}
