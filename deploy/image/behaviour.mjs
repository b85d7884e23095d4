// Runs the image as its users do, and looks at each thing that they rely on.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Container } from './container.mjs';
import { Secret } from './secret.mjs';
import { tls } from './tls.mjs';

const visitor = fileURLToPath(new URL('visitor.mjs', import.meta.url));
const { optionalDependencies } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
/** The one that this image's glibc and Node are there for: src/http/uws.ts would take the older one without a word. */
const newestUws = optionalDependencies['uWebSockets.js-v20.57'].split('@').at(-1);
const loader = { x64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' }[process.arch];
const matches = 20;
/** Longer than the server's own look at its key file, for file systems that report nothing. */
const patience_ms = 60_000;

/** What is looked at in a running container, in this order: what, the only right finding, and how to find it. */
const checks = [
  ['µWebSockets', newestUws, ({ container }) => JSON.parse(container.log.split('\n')[0]).uws],
  ['HEALTHCHECK of a server that is ready', '0', async ({ container, config }) => exitOf(container, config)],
  ['a match over HTTP', '200 true', async ({ match, secret }) => match(secret.keys[0])],
  ['user and group', '10001 10001', ({ container }) => statusOf(container, 'Uid', 'Gid')],
  [
    'capabilities, and new ones',
    '0000000000000000 0000000000000000, never',
    ({ container }) =>
      `${statusOf(container, 'CapPrm', 'CapEff')}, ${statusOf(container, 'NoNewPrivs') === '1' ? 'never' : 'perhaps'}`,
  ],
  ['a file written into the image', 'EROFS', ({ container }) => writing(container)],
  ['programs and libraries that miss a library', 'none', missingLibraries],
  ['processes', '1', ({ container }) => processesOf(container)],
  [
    'facematch keys list, beside the server',
    '0',
    async ({ container }) => (await container.exec(['facematch', 'keys', 'list'])).code,
  ],
  ['a Secret that is swapped as Kubernetes does', 'seen', swapped],
];

/** `binaries` are paths in the image, `photo` one of this machine, of a person. { facts, claims, start_ms: median } */
export async function behaviour(image, { folder, starts, binaries, photo }) {
  const { config } = image;
  const secret = new Secret(folder, image);
  await secret.addKey();
  const times = [];
  for (let start = 1; start < starts; start += 1) {
    const container = await started(image, secret, times);
    container.signal(config.signal);
    await container.ended;
  }
  const container = await started(image, secret, times);
  const memory = [memoryOf(container)];
  const visit = async (visited, env) => {
    const { stdout, stderr } = await visited.visit([process.execPath, visitor, photo, photo], env);
    if (stdout === '') throw new Error(`${stderr}\n${visited.log}`);
    const { status, body } = JSON.parse(stdout);
    return `${status} ${body.match ?? body.code}`;
  };
  const match = (key) => visit(container, { KEY: key });
  const claims = [];
  for (const [what, limit, look] of checks)
    claims.push(claim(what, limit, await look({ container, config, secret, match, binaries })));
  for (let index = 0; index < matches; index += 1) await match(secret.keys.at(-1));
  memory.push(memoryOf(container));
  const { stdout: version } = await container.exec(['node', '--version']);
  container.signal(config.signal);
  claims.push(claim(`${config.signal} to the first process`, '0', (await container.ended).code));
  claims.push(claim('HEALTHCHECK where no server is', '1', await lonelyCheck(image)));
  claims.push(...(await tls(image, { folder, visit })));
  return {
    facts: {
      'Node in it': version.trim(),
      'starts to ready, ms': times.map(Math.round).join(' '),
      'memory when ready': memory[0],
      [`after ${matches} matches`]: memory[1],
    },
    claims,
    start_ms: times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)],
  };
}

function claim(what, limit, found) {
  return { what, found: String(found), limit, ok: String(found) === limit };
}

async function started(image, secret, times) {
  const begun = performance.now();
  const container = new Container(image, { binds: secret.binds });
  await container.ready();
  times.push(performance.now() - begun);
  return container;
}

async function exitOf(container, { healthcheck }) {
  const { code, stderr } = await container.exec(healthcheck.command);
  return stderr === '' ? code : `${code}: ${stderr}`;
}

async function lonelyCheck(image) {
  const [command, ...args] = image.config.healthcheck.command;
  const config = { ...image.config, entrypoint: [command] };
  return (await new Container({ ...image, config }, { args }).ended).code;
}

const statusText = ({ pid }) => readFileSync(`/proc/${pid}/status`, 'utf8');

const statusOf = (container, ...names) =>
  names.map((name) => statusText(container).match(new RegExp(`^${name}:\\s+(\\S+)`, 'm'))?.[1]).join(' ');

const memoryOf = (container) => `${Math.round((Number(statusOf(container, 'VmRSS')) * 1024) / 1e6)} MB`;

async function writing(container) {
  const program = `try { fs.writeFileSync('/opt/facematch/x', '') } catch ({ code }) { process.stdout.write(code) }`;
  return (await container.exec(['node', '-e', program])).stdout;
}

/** The dynamic linker itself says what it does not find. */
async function missingLibraries({ container, binaries }) {
  const missing = [];
  for (const file of binaries) {
    const { code, stdout } = await container.exec([loader, '--list', file]);
    if (code !== 0 || stdout.includes('not found')) missing.push(file);
  }
  if (binaries.length < 4) return `only ${binaries.length} binaries to look at`;
  return missing.join(' ') || 'none';
}

const processesOf = ({ pid }) =>
  readdirSync(`/proc/${pid}/root/proc`).filter((name) => /^\d+$/.test(name)).length;

async function swapped({ secret, match }) {
  const key = await secret.addKey();
  const until = performance.now() + patience_ms;
  while (performance.now() < until) if ((await match(key)) === '200 true') return 'seen';
  return 'not seen';
}
