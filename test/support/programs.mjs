// Runs programs in child processes that end with this one: the server as `npm start` runs it, and programs around it.
// Tests, bench/ and deploy/ use this module.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The project's folder, with a slash at the end. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Environment that programs under test inherit: the path, a custom µWebSockets.js, and the HTTP server. */
export const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => ['PATH', 'FACEMATCH_UWS', 'FACEMATCH_HTTP'].includes(name)),
);

const program = join(root, 'dist/src/cli/index.js');

const { start } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts;
/** Arguments that `npm start` passes to Node (flags, program, `serve`), for any working folder. */
export const serve = start
  .slice(start.indexOf(' node -') + ' node '.length)
  .split(' ')
  .map((word) => (word === 'dist/src/cli/index.js' ? program : word));

const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Makes a signal run this process's `exit` handlers. Programs that are run by hand call this.
 */
export function endOnSignals() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
}

/**
 * Starts a program that ends with this process. Returns { child, ended }; `ended` resolves to { code, signal } and
 * never rejects.
 */
export function launch(command, args, options) {
  const child = spawn(command, args, options);
  running.add(child);
  const ended = once(child, 'close').then(
    ([code, signal]) => ({ code, signal }),
    (error) => ({ code: null, signal: null, error }),
  );
  void ended.then(() => running.delete(child));
  return { child, ended };
}

/**
 * Returns the command for Node 24 with the C library of Debian's next release, or undefined if setup did not unpack
 * them.
 */
export function nextNode() {
  const folder = join(root, '.cache/next-libc/usr/lib');
  const node = join(root, '.cache/next-node/bin/node');
  const found = existsSync(folder)
    ? readdirSync(folder).find((name) => name.endsWith('-linux-gnu'))
    : undefined;
  if (found === undefined || !existsSync(node)) return undefined;
  const libraries = join(folder, found);
  const loader = readdirSync(libraries).find((name) => /^ld-linux.*\.so\.\d+$/.test(name));
  return [join(libraries, loader), '--library-path', libraries, node];
}

/**
 * Returns the value of the series whose name and labels begin a line of an exposition, or 0.
 */
export function seriesValue(series, exposition) {
  const line = exposition.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

/**
 * Starts `command`, on the CPUs of `cores` if given (in taskset's notation). Resolves to { pid, line, ended, log(),
 * stop(signal) } when a line of its standard output matches `ready`. Standard error goes to a file, because reading it
 * would cost this process CPU time. Rejects with the last lines if the program ends before, or is not ready within
 * `patience_ms`.
 */
export async function startProgram(command, args, options) {
  const { ready, env = {}, cores, patience_ms = 120_000 } = options;
  const folder = mkdtempSync(join(tmpdir(), 'facematch-program-'));
  const logFile = join(folder, 'log');
  const stderr = openSync(logFile, 'w');
  const [first, ...rest] = [
    ...(cores === undefined ? [] : ['taskset', '-c', String(cores)]),
    command,
    ...args,
  ];
  const { child, ended } = launch(first, rest, {
    cwd: folder,
    stdio: ['ignore', 'pipe', stderr],
    env: { ...inherited, ...env },
  });
  closeSync(stderr);
  let log = () => readFileSync(logFile, 'utf8');
  void ended.then(() => {
    const text = log();
    log = () => text;
    rmSync(folder, { recursive: true, force: true });
  });
  const output = [];
  const line = await new Promise((resolve, reject) => {
    const failed = (reason) =>
      reject(new Error(`${command} ${reason}:\n${[...output, ...log().split('\n')].slice(-30).join('\n')}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      failed(`was not ready within ${patience_ms / 1000} s`);
    }, patience_ms);
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (ready.test(text)) {
        clearTimeout(timer);
        resolve(text);
      } else if (output.length < 30) output.push(text);
    });
    void ended.then(({ error }) => {
      clearTimeout(timer);
      failed(error ? `did not start (${error.message})` : 'ended before it was ready');
    });
  });
  return {
    pid: child.pid,
    line,
    ended,
    /** Returns the program's standard error so far. */
    log: () => log(),
    /** Resolves to { code, signal } when the program has ended. */
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Creates a key, by default with a high limit, in a key file; creates the file if it is missing. */
export function makeKey(file, given = {}) {
  const { scopes = 'match:basic,match:advanced', rate = 1_000_000, burst = 1_000_000 } = given;
  if (!existsSync(program)) throw new Error('The program is not built. Build it with: npm run setup');
  const settings = ['--scopes', scopes, '--rate', String(rate), '--burst', String(burst)];
  const args = [program, 'keys', 'create', '--name', 'load', ...settings, '--file', file];
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/**
 * Starts the server on free ports, with a key in a separate folder unless `env` names a key file. `limits` are the
 * key's rate and burst. When the server is ready, resolves to the result of startProgram() and { key, origin, port,
 * metric(series) }.
 */
export async function startServer({ env = {}, cores, limits } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-keys-'));
  const keysFile = join(folder, 'keys.json');
  const key = env.FACEMATCH_KEYS_FILE === undefined ? makeKey(keysFile, limits) : undefined;
  const server = await startProgram(process.execPath, serve, {
    ready: /listens on http/,
    cores,
    env: {
      FACEMATCH_PORT: '0',
      FACEMATCH_ADMIN_PORT: '0',
      FACEMATCH_KEYS_FILE: keysFile,
      FACEMATCH_LOG_LEVEL: 'info',
      ...env,
    },
  });
  void server.ended.then(() => rmSync(folder, { recursive: true, force: true }));
  const starting = server
    .log()
    .split('\n')
    .find((line) => line.includes('"msg":"starting"'));
  const { url: origin, admin_url } = JSON.parse(starting);
  return {
    ...server,
    key,
    origin,
    port: Number(new URL(origin).port),
    metric: async (series) => seriesValue(series, await (await fetch(`${admin_url}/metrics`)).text()),
  };
}

/** Returns different free ports. */
export async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Returns the CPUs on which this process may run, parsed from a list such as `0-3,8` (cpuset(7)). */
export function allowedCpus() {
  const [, list] = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'));
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_item, step) => first + step);
  });
}

/** Binds this process, and programs that it starts without `cores`, to one CPU. */
export function bindTo(cpu) {
  execFileSync('taskset', ['-a', '-c', '-p', String(cpu), String(process.pid)], { stdio: 'ignore' });
}

/** Returns a value of a process's status file in bytes: VmRSS, VmHWM (proc(5)). */
export function memoryOf(pid, name = 'VmRSS') {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
}

/** Returns the process and all its descendants. Threads are part of their process. */
export function treeOf(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

/** Returns the user and system time in a stat file of proc(5), in milliseconds. A tick is 10 ms on Linux. */
function timeIn(file) {
  const text = readFileSync(file, 'utf8');
  // The process's name, in brackets, may contain spaces and brackets.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** Returns the CPU time of a process and all its descendants, in milliseconds. */
export const cpuMsOf = (pid) => treeOf(pid).reduce((sum, one) => sum + timeIn(`/proc/${one}/stat`), 0);

/**
 * Returns the CPU time of a process's main thread alone, in milliseconds. It has a resolution of a nanosecond, unlike
 * stat's (Documentation/scheduler/sched-stats).
 */
export const mainThreadCpuMsOf = (pid) =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
