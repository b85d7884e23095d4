// Tests the packages on bare Debian 11, 12 and 13, each with Node 20, 22 and 24. Installs the two tarballs of
// build/package, runs the demo, starts the server, and matches the sample photos over HTTP.
//   node deploy/release/systems.mjs [--roots FOLDER] [--json]
// --roots  folder that keeps the Debian roots for the next run
// Needs root and debootstrap. Run `npm run package` first.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debootstrap, furnish, inside, requireTools } from '../../scripts/lib/debian-root.mjs';
import { endOnSignals, freePorts, root, startProgram } from '../../test/support/programs.mjs';
import { claim, flags, progress, report } from '../../test/support/report.mjs';

const { json, roots } = flags({ json: false, roots: '' });
const suites = ['bullseye', 'bookworm', 'trixie'];
const nodes = ['20', '22', '24'];

requireTools('deploy/release/systems.mjs');
endOnSignals();
const folder = roots || mkdtempSync(join(tmpdir(), 'facematch-systems-'));
const run = ([command, ...args], options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options });

const made = join(root, 'build/package');
const tarballs = readdirSync(made).filter((name) => /^facematch-(?:linux-\w+-)?\d.*\.tgz$/.test(name));
const place = '/srv/try';

/** Returns the folder of a Debian root that contains the tarballs. */
function prepare(suite) {
  const debian = join(folder, suite);
  const finished = join(debian, 'srv/finished');
  if (!existsSync(finished)) {
    rmSync(debian, { recursive: true, force: true });
    run(debootstrap(debian, suite, process.arch, 'ca-certificates'));
    mkdirSync(finished);
  }
  for (const tarball of tarballs) copyFileSync(join(made, tarball), join(debian, 'srv', tarball));
  return debian;
}

/** Installs and runs the packages with one Node.js version on one Debian release, and resolves to the results. */
async function attempt(debian, node) {
  const env = furnish(debian, { node });
  rmSync(join(debian, place), { recursive: true, force: true });
  mkdirSync(join(debian, place));
  const shell = (line) => inside(debian, ['sh', '-euc', `cd ${place} && ${line}`]);
  const within = (line) => run(shell(line), { env }).trim();
  const start = performance.now();
  within(`npm install --silent --no-audit --no-fund ${tarballs.map((name) => `/srv/${name}`).join(' ')}`);
  const seconds = Math.round((performance.now() - start) / 1000);
  const demo = JSON.parse(within('npx --no facematch demo --json'));
  const key = within('npx --no facematch keys create --name try');
  const served = await matchOverHttp(shell('exec node_modules/.bin/facematch serve'), { debian, env, key });
  const [version, glibc] = within(
    'node -p "[process.version, process.report.getReport().header.glibcVersionRuntime].join(\' \')"',
  ).split(' ');
  return { node: version, glibc, install_s: seconds, demo: demo.match, ...served };
}

/** Starts the server, and resolves to its HTTP implementation and the result of matching the sample photos. */
async function matchOverHttp([command, ...args], { debian, env, key }) {
  const [port, admin] = await freePorts(2);
  const ports = { FACEMATCH_PORT: String(port), FACEMATCH_ADMIN_PORT: String(admin) };
  const server = await startProgram(command, args, { ready: /listens on http/, env: { ...env, ...ports } });
  try {
    const { http } = await (await fetch(`http://127.0.0.1:${admin}/readyz`)).json();
    const samples = join(debian, place, `node_modules/@facematch/linux-${process.arch}/samples`);
    const body = new FormData();
    for (const [field, file] of [
      ['image1', 'sample1.jpg'],
      ['image2', 'sample3.jpg'],
    ])
      body.append(field, new Blob([readFileSync(join(samples, file))]), file);
    const url = `http://127.0.0.1:${port}/API/v1.0/face/match/upload`;
    const response = await fetch(url, { method: 'POST', headers: { 'x-api-key': key }, body });
    const { match, confidence_percent } = await response.json();
    return { http, status: response.status, match, confidence_percent };
  } finally {
    await server.stop('SIGKILL');
  }
}

const found = [];
try {
  if (tarballs.length !== 2) throw new Error(`${made} must contain two tarballs: run npm run package`);
  for (const suite of suites) {
    progress(`${suite}: debootstrap`);
    const debian = prepare(suite);
    for (const node of nodes) {
      progress(`${suite}: Node ${node}`);
      found.push({ suite, ...(await attempt(debian, node)) });
    }
  }
  const works = ({ demo, status, match }) => demo === true && status === 200 && match === true;
  report({
    title: `Packages on ${suites.length} Debian releases with ${nodes.length} Node.js versions`,
    facts: Object.fromEntries(found.map(({ suite, ...rest }) => [`${suite} ${rest.node}`, rest])),
    claims: [
      claim(
        'systems that install the packages and match in the demo and over HTTP',
        String(found.filter(works).length),
        `${suites.length * nodes.length}`,
        found.length === suites.length * nodes.length && found.every(works),
      ),
    ],
    json,
  });
} finally {
  if (!roots) rmSync(folder, { recursive: true, force: true });
}
