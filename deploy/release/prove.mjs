// Rehearses a release. Builds the packages again in another folder and compares the hashes. Publishes the packages to
// a registry on loopback, as docs/releasing.md describes. Bare Debian systems install them, match two photos, run the
// service behind nginx with the commands in docs/, upgrade and uninstall.
//   node deploy/release/prove.mjs [--json]
// Needs root and debootstrap. Run `npm run package -- --registry` first.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { debootstrap, furnish, inside, requireTools } from '../../scripts/lib/debian-root.mjs';
import { endOnSignals, freePorts, root, startProgram } from '../../test/support/programs.mjs';
import { claim, flags, progress, report } from '../../test/support/report.mjs';

const { json } = flags({ json: false });
/** One Node.js version per Debian release; deploy/release/systems.mjs tests all combinations. */
const systems = [
  { suite: 'bullseye', node: '20' },
  { suite: 'bookworm', node: '22' },
  { suite: 'trixie', node: '24' },
];

requireTools('deploy/release/prove.mjs');
endOnSignals();
const folder = mkdtempSync(join(tmpdir(), 'facematch-release-'));
const run = ([command, ...args], options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options });

/**
 * Starts Verdaccio. It stores the project's packages and proxies all others from the configured registry.
 * Resolves to { url, env, stop() }.
 */
async function startRegistry() {
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const upstream = run(['npm', 'config', 'get', 'registry']).trim();
  const own = '{ access: $all, publish: $authenticated }';
  const config = join(folder, 'verdaccio.yaml');
  writeFileSync(
    config,
    `storage: ${folder}/storage
auth: { htpasswd: { file: ${folder}/htpasswd } }
uplinks: { upstream: { url: '${upstream}', maxage: 1h } }
packages:
  facematch: ${own}
  '@facematch/*': ${own}
  '**': { access: $all, proxy: upstream }
max_body_size: 200mb
log: { type: stdout, format: json, level: warn }
`,
  );
  const tool = join(folder, 'verdaccio');
  mkdirSync(tool);
  // The last version that supports Node 20. One of its dependencies requires node-fetch by a dist-tag, which some
  // mirrors do not have.
  const needs = { dependencies: { verdaccio: '6.8.0' }, overrides: { 'node-fetch': '2.7.0' } };
  writeFileSync(join(tool, 'package.json'), JSON.stringify({ private: true, ...needs }));
  run(['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', tool]);
  const program = join(tool, 'node_modules/verdaccio/bin/verdaccio');
  const { stop } = await startProgram(process.execPath, [program, '--config', config, '--listen', url], {
    ready: /http address/,
    // Passes on network settings, such as proxies and certificates.
    env: process.env,
  });
  const user = { name: 'publisher', password: 'publisher-of-facematch' };
  const response = await fetch(`${url}/-/user/org.couchdb.user:${user.name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  });
  const { token } = await response.json();
  const settings = join(folder, 'npmrc');
  writeFileSync(settings, `registry=${url}/\n//127.0.0.1:${port}/:_authToken=${token}\n`);
  return { url, env: { ...process.env, npm_config_userconfig: settings }, stop };
}

/** Reserves the package names with the commands in docs/releasing.md. */
function reserve(env) {
  const page = readFileSync(join(root, 'docs/releasing.md'), 'utf8');
  const block = /^ *for name in .*?^ *done$/ms.exec(page)[0];
  const place = join(folder, 'names');
  mkdirSync(place);
  run(['sh', '-euc', block], { cwd: place, env: { ...env, npm_config_loglevel: 'error' } });
}

/** Returns folders with the same packages under a later version number. */
function raised(tarballs, version) {
  return tarballs.map((tarball, index) => {
    const place = join(folder, 'raised', String(index));
    mkdirSync(place, { recursive: true });
    run(['tar', '-xzf', tarball, '-C', place, '--strip-components=1']);
    const file = join(place, 'package.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8'));
    manifest.version = version;
    for (const name of Object.keys(manifest.optionalDependencies ?? {}))
      manifest.optionalDependencies[name] = version;
    writeFileSync(file, JSON.stringify(manifest));
    return place;
  });
}

const hashOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Builds the packages again in another folder, and returns the names of the tarballs whose hashes differ. */
function differing(tarballs) {
  const other = join(folder, 'another', 'place');
  const tracked = run(['git', 'ls-files', '-z'], { cwd: root }).split('\0').filter(Boolean);
  for (const path of tracked) {
    mkdirSync(join(other, dirname(path)), { recursive: true });
    copyFileSync(join(root, path), join(other, path));
  }
  for (const name of ['node_modules', '.cache']) symlinkSync(join(root, name), join(other, name));
  for (const name of ['dist', 'models/packs'])
    cpSync(join(root, name), join(other, name), { recursive: true });
  const steps = ['--only', 'addon,platform,program-files,program,client,lab', '--registry'];
  const env = { ...process.env, CCACHE_DISABLE: '1' };
  run([process.execPath, 'scripts/package.mjs', ...steps], { cwd: other, env });
  const again = (file) => join(other, 'build/package', basename(file));
  return tarballs.filter((file) => hashOf(file) !== hashOf(again(file))).map((file) => basename(file));
}

/** Returns the `sh` code blocks of a page under a heading. */
function blocksOf(page, heading) {
  const text = readFileSync(join(root, page), 'utf8');
  const section = text.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`));
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block);
}

/** Returns scripts made of the code blocks of docs/deployment.md, in the order in which a reader runs them. */
function asService() {
  const [, install, remove] = blocksOf('docs/deployment.md', 'From packages, without a compiler');
  const [, enable, audit] = blocksOf('docs/deployment.md', 'Under systemd');
  const machine = readFileSync(new URL('machine.sh', import.meta.url), 'utf8');
  return {
    install: `${machine}\n${install}`,
    serve: [machine, enable, audit, behindNginx, remove, gone].join('\n'),
  };
}

/** The steps of docs/proxies.md for nginx, with a self-signed certificate. */
const behindNginx = `
matched() {
  curl -sS --fail --retry 30 --retry-delay 1 --retry-all-errors --cacert /etc/facematch/tls.crt \\
    --resolve facematch.example:443:127.0.0.1 -H "x-api-key: $KEY" -F "image1=@$samples/sample1.jpg" -F "image2=@$samples/sample3.jpg" \\
    https://facematch.example/API/v1.0/face/match/upload | grep --only-matching '"match":true'
}
echo FACEMATCH_TRUSTED_HOPS=1 >>/etc/facematch/environment
systemctl restart facematch
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=facematch.example -addext subjectAltName=DNS:facematch.example \\
  -keyout /etc/facematch/tls.key -out /etc/facematch/tls.crt 2>/dev/null
cp /opt/facematch/deploy/nginx.conf /etc/nginx/conf.d/facematch.conf
nginx -q -t && nginx
matched
timeout 10 bash -c 'until grep --quiet match /var/log/facematch/audit.jsonl; do sleep 0.1; done'
nginx -s stop
`;
const gone =
  '[ -z "$(ls --directory /opt/facematch* /etc/facematch /var/log/facematch 2>/dev/null)" ] && echo gone';

function publish(packages, env) {
  for (const one of packages) run(['npm', 'publish', '--silent', '--access', 'public', one], { env });
}

const steps = [];
async function step(name, work) {
  progress(name);
  const start = performance.now();
  const found = await work();
  steps.push({ step: name, seconds: Math.round((performance.now() - start) / 1000), found });
  return found;
}

let registry;
try {
  const made = join(root, 'build/package');
  const tarballs = readdirSync(made)
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => join(made, name));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const next = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
  const different = await step('built in another folder', () => differing(tarballs));
  registry = await step('registry', startRegistry);
  const { url, env } = registry;
  await step('names', () => reserve(env));
  await step(`publish ${version}`, () => publish(tarballs, env));
  const asked = run(['npm', 'view', 'facematch', 'repository.url', 'version'], { env });
  const places = systems.map(({ suite, node }) => {
    const debian = join(folder, suite);
    run(debootstrap(debian, suite, process.arch, 'ca-certificates'));
    mkdirSync(join(debian, 'srv/try'), { recursive: true });
    const settings = { ...furnish(debian, { node }), npm_config_registry: `${url}/` };
    const within = (line) => run(inside(debian, ['sh', '-euc', `cd /srv/try && ${line}`]), { env: settings });
    return { suite, within, debian };
  });
  const install = 'npm install --silent --no-audit --no-fund';
  const matches = [];
  for (const { suite, within } of places) {
    const match = (line) =>
      matches.push(JSON.parse(within(`${line} && npx --no facematch demo --json`)).match);
    await step(`${suite}: install and demo`, () => match(`${install} facematch`));
  }
  const served = [];
  for (const { suite, within, debian } of places) {
    await step(`${suite}: run the service behind nginx, then remove it`, () => {
      const { install, serve } = asService();
      for (const tarball of tarballs) copyFileSync(tarball, join(debian, 'srv', basename(tarball)));
      writeFileSync(join(debian, 'srv/install.sh'), install);
      writeFileSync(join(debian, 'srv/serve.sh'), serve);
      // Stops Debian from starting nginx on the host's ports when the package is installed.
      writeFileSync(join(debian, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
      within(
        'export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -qq --no-install-recommends curl iproute2 nginx openssl',
      );
      within('cd /srv && bash install.sh');
      served.push(within('unshare --net bash -c "ip link set lo up && cd /srv && bash serve.sh"'));
    });
  }
  await step(`publish ${next}`, () => publish(raised(tarballs, next), env));
  const left = [];
  for (const { suite, within } of places) {
    await step(`${suite}: upgrade and demo`, () => {
      const output = within(
        `${install} facematch@latest && node_modules/.bin/facematch --version && npx --no facematch demo --json`,
      );
      matches.push(output.includes(next) && output.includes('"match": true'));
    });
    await step(`${suite}: uninstall`, () =>
      // Ignores package.json, package-lock.json and empty scope folders, which npm keeps.
      left.push(within("npm uninstall --silent facematch; find . ! -type d ! -name '*package*.json'")),
    );
  }
  report({
    title: `Rehearsal of release ${version}`,
    facts: Object.fromEntries(steps.map(({ step: name, seconds }) => [name, `${seconds} s`])),
    claims: [
      claim('published version', asked.trim().replaceAll('\n', ', '), version, asked.includes(version)),
      claim(
        'demo runs that match',
        matches.join(', '),
        'two on each Debian release',
        matches.length === 2 * systems.length && matches.every(Boolean),
      ),
      claim(
        'packages that differ when built in another folder',
        different.join(', ') || 'none',
        'none',
        different.length === 0,
      ),
      claim(
        'Debian releases where the service matches behind nginx and is removed completely',
        String(
          served.filter((reply) => reply.includes('"match":true') && reply.trim().endsWith('gone')).length,
        ),
        'each Debian release',
        served.every((reply) => reply.includes('"match":true') && reply.trim().endsWith('gone')),
      ),
      claim(
        'files left after uninstall',
        left.join('').trim() || 'none',
        'none',
        left.join('').trim() === '',
      ),
    ],
    json,
  });
} finally {
  await registry?.stop();
  rmSync(folder, { recursive: true, force: true });
}
