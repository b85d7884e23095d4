import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { progressBar } from 'facematch/for-lab';
import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch, type Response } from 'undici';

/** Downloads files from their publishers, verifies them, and caches them. */

export interface Download {
  url: string;
  bytes: number;
  sha256: string;
}

/** Returns the path of a file with this hash in the cache `folder`. */
export const pathFor = (folder: string, sha: string, name: string) => join(folder, sha.slice(0, 16), name);

export const pathOf = (folder: string, download: Download) =>
  pathFor(folder, download.sha256, basename(new URL(download.url).pathname));

/** Returns the SHA-256 of a file; undefined if it is missing. */
export async function hashOf(path: string): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/**
 * Downloads the missing part of a file, verifies the file, and resolves to its path. The next call resumes an interrupted
 * download. Rejects with an Error whose message is meant for the user.
 */
export async function download(file: Download, folder: string): Promise<string> {
  const path = pathOf(folder, file);
  if ((await hashOf(path)) === file.sha256) return path;
  mkdirSync(dirname(path), { recursive: true });
  const unlock = lock(`${path}.lock`, file.url);
  try {
    const part = `${path}.part`;
    const isResumed = sizeOf(part) > 0;
    let fault = await fetchInto(part, file);
    // The existing part may belong to another file, so the second attempt starts from the beginning.
    if (fault !== undefined && isResumed) fault = await fetchInto(part, file);
    if (fault !== undefined) throw new Error(fault);
    renameSync(part, path);
    return path;
  } finally {
    unlock();
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Throws an Error if another process is downloading the file. Removes the lock of a process that has exited. */
function lock(path: string, url: string): () => void {
  const owner = Number(existsSync(path) && readFileSync(path, 'utf8'));
  if (owner > 0 && !isAlive(owner)) rmSync(path, { force: true });
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(
      `Another process${owner > 0 ? ` (${owner})` : ''} is downloading ${url}. Wait until it has finished.`,
    );
  }
  return () => rmSync(path, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Maximum time without a received byte. A longer pause aborts the download. */
const stalled_ms = 60_000;

/**
 * Appends the missing bytes to `part`. If the file has a wrong length or hash, discards it and resolves to an error
 * message. Rejects, and keeps the existing part, if the connection fails, if the response is an error, or if its
 * length shows that it is another document, such as the login page of a network.
 */
async function fetchInto(part: string, file: Download): Promise<string | undefined> {
  const { url, bytes, sha256 } = file;
  let have = sizeOf(part);
  if (have < bytes) {
    const dispatcher = newDispatcher();
    let target = openSync(part, 'a');
    // Receives the whole file if the server sends it instead of the rest. Replaces `part` if it has more bytes.
    const fresh = `${part}.whole`;
    rmSync(fresh, { force: true });
    const bar = await progressBar(`Bytes of ${basename(url)}`, bytes);
    const discard = (fault: string) => {
      if (existsSync(fresh)) {
        rmSync(fresh);
        throw new Error(fault);
      }
      ftruncateSync(target, 0);
      return fault;
    };
    try {
      const headers = have > 0 ? { range: `bytes=${have}-` } : {};
      const response = await fetch(url, { headers, dispatcher });
      if (!isSafe(response.url)) throw new Error(`${url} redirects to ${response.url}, which is not HTTPS.`);
      if (response.status === 416) return discard(`${url} has fewer than ${have + 1} bytes.`);
      if (!response.ok || response.body === null)
        throw new Error(`${url} responded with status ${response.status}.`);
      // A server without support for ranges sends the whole file.
      const isWhole = response.status !== 206 && have > 0;
      if (isWhole) have = 0;
      const fault = otherLength(response, have, file);
      if (fault !== undefined) throw new Error(fault);
      if (isWhole) {
        closeSync(target);
        target = openSync(fresh, 'w');
      }
      for await (const chunk of response.body) {
        have += chunk.length;
        if (have > bytes) return discard(`${url} has more than the expected ${bytes} bytes.`);
        writeSync(target, chunk);
        bar.reach(have);
      }
      // A broken connection would have thrown, so the complete response is too short.
      if (have < bytes) return discard(`${url} has ${have} bytes instead of ${bytes}.`);
    } catch (error) {
      // fetch reports the reason of a failed connection only in the error's cause.
      const { message, cause } = error as Error;
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
      const kept = Math.max(sizeOf(part), sizeOf(fresh));
      const next = kept > 0 ? `\n${kept} of ${bytes} bytes are kept; run the command again to resume.` : '';
      throw new Error(`${reason}${next}`, { cause: error });
    } finally {
      bar.stop();
      closeSync(target);
      if (sizeOf(fresh) > sizeOf(part)) renameSync(fresh, part);
      rmSync(fresh, { force: true });
      // Also closes the connection if the response was not read completely.
      await dispatcher.destroy();
      if (sizeOf(part) === 0) rmSync(part, { force: true });
    }
  }
  const hash = await hashOf(part);
  if (hash === sha256) return undefined;
  rmSync(part);
  return `${url} has the SHA-256 ${hash} instead of ${sha256}. The file was discarded.`;
}

/** Returns an error message if the Content-Length of the response is wrong, before any byte is stored. */
function otherLength({ headers }: Response, have: number, { url, bytes }: Download): string | undefined {
  const length = headers.get('content-length');
  // The Content-Length of an encoded body is not the length of the file.
  if (length === null || headers.has('content-encoding')) return undefined;
  const whole = have + Number(length);
  if (whole === bytes) return undefined;
  const type = headers.get('content-type') ?? '';
  const page = type.startsWith('text/')
    ? ` Its type is ${type}, so it may be the login page of your network.`
    : '';
  return `${url} has ${whole} bytes instead of ${bytes}.${page}`;
}

function newDispatcher(): Dispatcher {
  const timeouts = { headersTimeout: stalled_ms, bodyTimeout: stalled_ms };
  const through = proxies();
  if (through === undefined) return new Agent(timeouts);
  // Hides undici's warning that EnvHttpProxyAgent is experimental.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return new EnvHttpProxyAgent({ ...timeouts, ...through });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || hostname === '127.0.0.1';
}

/** Returns the cache folder of the XDG Base Directory Specification. */
export const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'facematch');

/**
 * Returns the values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY; undefined if no proxy is set. Like curl, reads
 * `host:port` as an HTTP proxy.
 */
export function proxies(env: NodeJS.ProcessEnv = process.env) {
  const read = (name: string) => env[name] || env[name.toUpperCase()] || '';
  const [httpsProxy, httpProxy] = ['https_proxy', 'http_proxy'].map((name) =>
    read(name).replace(/^(?![a-z]+:\/\/)(?=.)/i, 'http://'),
  ) as [string, string];
  if (!httpsProxy && !httpProxy) return undefined;
  return { httpsProxy, httpProxy, noProxy: read('no_proxy') };
}
