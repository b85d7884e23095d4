import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type ClientOptions, FacematchClient, FacematchError } from 'facematch/client';
import { projectPath } from '../../../src/config/paths.ts';
import { blank, samples } from '../../fixtures/images.ts';
import { newFolder } from '../../support/folder.ts';
import { execute } from './cli.ts';
import type { Json } from './client.ts';

/** The clients that the project offers, and a folder with the images in their examples. */

export const folder = newFolder();
/** A file name that would break out of a form's header. */
export const oddName = 'é "b"\r\n; name=image1.jpg';
/** The same person is in `one.jpg` and `two.jpg`, but not in `three.jpg`. */
export const images = {
  'one.jpg': samples.one,
  'two.jpg': samples.three,
  'three.jpg': samples.two,
  'nobody.png': await blank(64, 64, 'png'),
  'none.txt': Buffer.from('no image'),
  [oddName]: samples.three,
};
for (const [name, bytes] of Object.entries(images)) writeFileSync(join(folder, name), bytes);
copyFileSync(projectPath('docs/clients/facematch.py'), join(folder, 'facematch.py'));

export interface Target {
  url: string;
  key: string;
  /** Sends images as JSON; only the client for Node does that. */
  json?: boolean;
  timeout_s?: number;
}

/** Error that a client reports for an error response, or for no response. */
export interface Failure {
  error: string;
  /** Undefined if the shell client does not print it. */
  code?: string;
  status: number | null;
  problem?: Json;
  wait_s?: number | null;
}

/**
 * Returns the client's result or its FacematchError in the form of the other clients. It makes at most two
 * attempts.
 */
export async function askNode(
  call: (client: FacematchClient) => Promise<unknown>,
  { timeout_s, ...target }: Target & Partial<ClientOptions>,
): Promise<Json> {
  const limit = timeout_s === undefined ? {} : { timeout_ms: 1000 * timeout_s };
  try {
    return await call(new FacematchClient({ retries: 1, ...limit, ...target }));
  } catch (error) {
    if (!(error instanceof FacematchError)) throw error;
    const { message, code, status = null, problem = null, retryAfter_ms, cause } = error;
    if (code === 'network' && !(cause instanceof Error)) throw new Error('The network error has no cause');
    const wait_s = retryAfter_ms === undefined ? null : retryAfter_ms / 1000;
    return { error: message, code, status, problem, wait_s } satisfies Failure;
  }
}

/** Runs python3 in the folder. */
export function python(args: readonly string[], { url, key }: Target) {
  const env = { PATH: process.env.PATH, FACEMATCH_URL: url, FACEMATCH_KEY: key, PYTHONUTF8: '1' };
  return execute('python3', args, folder, env);
}

/**
 * Returns the value of an expression of `client`, which makes at most two attempts, or the text of its
 * FacematchError.
 */
export async function askPython(expression: string, target: Target): Promise<Json> {
  const options = target.timeout_s ? `, timeout=${target.timeout_s}` : '';
  const script = `
import json, os, facematch
client = facematch.FacematchClient(os.environ["FACEMATCH_URL"], os.environ["FACEMATCH_KEY"], retries=1${options})
try:
    print(json.dumps(${expression}))
except facematch.FacematchError as error:
    wait_s = error.retry_after
    print(json.dumps({"error": str(error), "code": error.code, "status": error.status, "problem": error.problem, "wait_s": wait_s}))
`;
  const { code, stdout, stderr } = await python(['-c', script], target);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Runs match.sh in the folder. */
export function shell(args: readonly string[], { url, key }: Target) {
  const env = { PATH: process.env.PATH, FACEMATCH_URL: url, FACEMATCH_KEY: key };
  return execute(projectPath('docs/clients/match.sh'), args, folder, env);
}

async function askShell(second: keyof typeof images, target: Target): Promise<Json> {
  const { code, stderr } = await shell(['one.jpg', String(second)], target);
  if (code < 2) return { match: code === 0 };
  const [, status, reason] = /error: (\d{3})(?: (\w+):)?/.exec(stderr) ?? [];
  return { error: stderr, code: reason, status: status ? Number(status) : null };
}

/** Returns true if the command is installed; prints a message if it is not. */
function isInstalled(command: string): boolean {
  if (spawnSync(command, ['--version']).error === undefined) return true;
  process.stderr.write(`A client is not run: ${command} is not installed\n`);
  return false;
}

export const hasPython = isInstalled('python3');
export const hasCurl = isInstalled('curl');

/** The clients, each of which compares `one.jpg` with a second image. */
export const programs: {
  name: string;
  runs: boolean;
  /** Maximum number of attempts. */
  tries: number;
  /** Statuses after which the client retries. */
  passing: readonly number[];
  ask: (second: keyof typeof images, target: Target) => Promise<Json>;
}[] = [
  {
    name: 'facematch/client',
    runs: true,
    tries: 2,
    passing: [408, 429, 503, 504],
    ask: (second, target) => askNode((client) => client.match(images['one.jpg'], images[second]!), target),
  },
  {
    name: 'facematch.py',
    runs: hasPython,
    tries: 2,
    passing: [408, 429, 503, 504],
    ask: (second, target) => askPython(`client.match("one.jpg", ${JSON.stringify(second)})`, target),
  },
  { name: 'match.sh', runs: hasCurl, tries: 4, passing: [408, 429, 502, 503, 504], ask: askShell },
];

/** Returns a program from docs/clients/README.md by language: the first, or the one at `index`. */
export function example(language: 'js' | 'python', index = 0): string {
  const page = readFileSync(projectPath('docs/clients/README.md'), 'utf8');
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))][index]![1]!;
}

/**
 * IP address of the proxies that may break connections. On 127.0.0.1, a proxy could get the port that another test's
 * server has just released, and its requests.
 */
const host = '127.0.0.2';

/**
 * Listens in front of the server on `port`, and counts the connections. Passes bytes through unless `meet` returns
 * true.
 */
export async function proxy(port: number, meet: (connection: Socket, count: number) => unknown) {
  let connections = 0;
  const sockets = new Set<Socket>();
  const listener = createServer(async (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    if (await meet(socket, connections)) return;
    const onward = connect(port, '127.0.0.1');
    onward.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, host, resolve));
  return {
    url: `http://${host}:${(listener.address() as { port: number }).port}`,
    get connections() {
      return connections;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

/** Resets the connection once the first bytes have arrived, before any response. */
export function reset(socket: Socket): true {
  socket.once('data', () => socket.resetAndDestroy());
  return true;
}

/** Responds like a gateway when the request has arrived. */
export function respondOnce(socket: Socket, text: string): true {
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    // The closing delimiter of the form: two hyphens after the boundary.
    if (received.endsWith('--\r\n')) socket.end(text);
  });
  return true;
}
