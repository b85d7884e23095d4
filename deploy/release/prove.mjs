import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debootstrap, furnish, inside, requireTools } from '../../scripts/lib/debian-root.mjs';
import { endOnSignals, freePorts, root, startProgram } from '../../test/support/programs.mjs';
import { claim, flags, progress, report } from '../../test/support/report.mjs';

const { json } = flags({ json: false });
/** Where Node of each major version is tried. */
const systems = [
  { suite: 'bookworm', node: '20' },
  { suite: 'trixie', node: '24' },
];

requireTools('prove-release');
endOnSignals();
const folder = mkdtempSync(join(tmpdir(), 'facematch-release-'));
const run = ([command, ...args], options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options });

/** Verdaccio: it has our names alone, and asks this machine's registry for all others. Resolves to { url, npm }. */
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
  // The last line of versions that run on Node 20.
  run(['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', tool, 'verdaccio@6.8']);
  const program = join(tool, 'node_modules/verdaccio/bin/verdaccio');
  await startProgram(process.execPath, [program, '--config', config, '--listen', url], {
    ready: /http address/,
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
  return { url, env: { ...process.env, npm_config_userconfig: settings } };
}

/** The block of docs/releasing.md by which a person takes the names. */
function reserve(env) {
  const page = readFileSync(join(root, 'docs/releasing.md'), 'utf8');
  const block = /^ *for name in .*?^ *done$/ms.exec(page)[0];
  const place = join(folder, 'names');
  mkdirSync(place);
  run(['sh', '-euc', block], { cwd: place, env });
}

/** The packages, as a later version. */
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

try {
  const made = join(root, 'build/package');
  const tarballs = readdirSync(made)
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => join(made, name));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const next = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
  const { url, env } = await step('registry', startRegistry);
  await step('names', () => reserve(env));
  await step(`publish ${version}`, () => publish(tarballs, env));
  const asked = run(['npm', 'view', 'facematch', 'repository.url', 'version'], { env });
  const places = systems.map(({ suite, node }) => {
    const debian = join(folder, suite);
    run(debootstrap(debian, suite, process.arch, 'ca-certificates'));
    mkdirSync(join(debian, 'srv/try'), { recursive: true });
    const settings = { ...furnish(debian, { node }), npm_config_registry: `${url}/` };
    const within = (line) => run(inside(debian, ['sh', '-euc', `cd /srv/try && ${line}`]), { env: settings });
    return { suite, within };
  });
  const install = 'npm install --silent --no-audit --no-fund';
  const matches = [];
  for (const { suite, within } of places) {
    const match = (line) => matches.push(JSON.parse(within(`${line} && npx facematch demo --json`)).match);
    await step(`${suite}: install and demo`, () => match(`${install} facematch`));
  }
  await step(`publish ${next}`, () => publish(raised(tarballs, next), env));
  const left = [];
  for (const { suite, within } of places) {
    await step(`${suite}: upgrade and demo`, () => {
      const answer = within(
        `${install} facematch@latest && npx facematch --version && npx facematch demo --json`,
      );
      matches.push(answer.includes(next) && answer.includes('"match": true'));
    });
    await step(`${suite}: uninstall`, () =>
      left.push(within('npm uninstall --silent facematch; ls node_modules')),
    );
  }
  report({
    title: `A release of ${version}, rehearsed`,
    facts: Object.fromEntries(steps.map(({ step: name, seconds }) => [name, `${seconds} s`])),
    claims: [
      claim('the package', asked.trim().replaceAll('\n', ', '), 'this version', asked.includes(version)),
      claim('matches', matches.join(', '), 'four', matches.length === 4 && matches.every(Boolean)),
      claim('left behind', left.join('').trim() || 'nothing', 'nothing', left.join('').trim() === ''),
    ],
    json,
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
