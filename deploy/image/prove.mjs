// Does the image build, what is in it, and does it run as it should?
//   sudo deploy/prove-image [--folder DIR] [--starts 5] [--json]
// Carries out the Dockerfile's own instructions (builder.mjs reads them) in Debian roots that debootstrap makes, then runs
// the result as a container engine would: see container.mjs. It needs root, debootstrap, util-linux, iproute2 and openssl, a
// network, 4 GB below the temporary folder, and some minutes. Mirrors, registry, proxies and certificates are those that
// this machine is set to; that nothing of them is in the image is looked at. --folder keeps base images and caches.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { root as project } from '../../bench/lib/paths.mjs';
import { flags, progress, report } from '../../bench/lib/report.mjs';
import { networkSettings, ownMirrors, requireTools } from '../../scripts/lib/debian-root.mjs';
import { ownNetwork } from './base.mjs';
import { behaviour } from './behaviour.mjs';
import { Builder, networkMount } from './builder.mjs';
import { binaries, bytesOf, faults, sizes } from './contents.mjs';

const target = { size_mb: 450, start_ms: 1500 };
/** Of the images that the Dockerfile builds on. */
const suite = 'trixie';
const samplePhoto = 'node_modules/@vladmandic/face-api/demo/sample1.jpg';

const { folder: kept, starts, json } = flags({ folder: '', starts: 5, json: false });

let running;

/** Runs a command to its end. Rejects with its last lines when it fails. */
function run([command, ...args], env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: env ? { PATH: process.env.PATH, ...env } : process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running = child;
    const lines = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => {
        lines.push(...String(text).trimEnd().split('\n'));
        lines.splice(0, lines.length - 40);
        progress(lines.at(-1).slice(0, 100));
      });
    }
    child.on('error', reject);
    child.on('close', (code) => {
      progress('');
      if (code === 0) resolve();
      else reject(new Error(`${lines.join('\n')}\n${command} ended with ${code}`));
    });
  });
}

const ask = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' }).trim();

/** What this machine is set to for its network, to be seen while building. */
function network(folder) {
  const mirrors = ownMirrors();
  const files = ['userconfig', 'globalconfig'].map((name) => [name, ask('npm', 'config', 'get', name)]);
  const settings = networkSettings();
  const aptSettings = ask('apt-config', 'dump', 'Acquire');
  const npmFiles = Object.fromEntries(files.filter(([, file]) => existsSync(file)));
  const env = ownNetwork(folder, networkMount, suite, { mirrors, settings, aptSettings, npmFiles });
  const proxies = [...aptSettings.matchAll(/"(\w+:\/\/[^"]+)"/g)].map(([, address]) => address);
  const registry = registryOf(Object.values(npmFiles));
  const secrets = [networkMount, ...proxies, ...registry, ...Object.values(settings)];
  return { folder, env, secrets: secrets.filter((text) => text.length > 4) };
}

/** Where these files name it: the one that npm knows without being told, packages name themselves. */
function registryOf(files) {
  const registry = ask('npm', 'config', 'get', 'registry');
  return files.some((file) => readFileSync(file, 'utf8').includes(registry)) ? [registry] : [];
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

async function prove(folder) {
  const own = network(join(folder, 'network'));
  const builder = new Builder({
    folder,
    context: project,
    network: own,
    run,
    tell: (line) => process.stderr.write(`${line}\n`),
  });
  const begun = performance.now();
  const image = await builder.build();
  const build_s = Math.round((performance.now() - begun) / 1000);
  const { all, parts } = sizes(image.root, image.base);
  const complaints = faults(image.root, own.secrets);
  // Of a package that is there for tests, so only where it was built.
  const photo = join(builder.stage('build').root, 'opt/facematch', samplePhoto);
  const seen = await behaviour(image, { folder, starts, binaries: binaries(image.root), photo });
  report({
    title: 'The image, built and run',
    json,
    facts: {
      'built in, s': build_s,
      'what it is built in': megabytes(bytesOf(builder.stage('build').root)),
      unpacked: megabytes(all),
      ...Object.fromEntries(Object.entries(parts).map(([name, size]) => [`  ${name}`, megabytes(size)])),
      ...seen.facts,
    },
    claims: [
      {
        what: 'unpacked',
        found: megabytes(all),
        limit: `at most ${target.size_mb} MB`,
        ok: all <= target.size_mb * 1e6,
      },
      {
        what: 'start to ready, median',
        found: `${Math.round(seen.start_ms)} ms`,
        limit: `at most ${target.start_ms} ms`,
        ok: seen.start_ms <= target.start_ms,
      },
      {
        what: 'what has no place in it',
        found: complaints.length === 0 ? 'nothing' : complaints.slice(0, 20).join('; '),
        limit: 'nothing',
        ok: complaints.length === 0,
      },
      ...seen.claims,
    ],
  });
}

// With unshare goes all that it has started.
process.on('exit', () => running?.kill('SIGKILL'));
// As an engine's: what it makes does not depend on who calls it.
process.umask(0o022);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
try {
  requireTools('deploy/prove-image', [
    ['ip', 'iproute2'],
    ['openssl', 'openssl'],
  ]);
  const folder = kept === '' ? mkdtempSync(join(tmpdir(), 'facematch-image-')) : resolve(kept);
  mkdirSync(folder, { recursive: true });
  if (kept === '')
    process.on('exit', () =>
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
    );
  await prove(folder);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
