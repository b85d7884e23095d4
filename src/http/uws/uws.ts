import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { productPath, uwsFolder } from '../../config/paths.ts';

/**
 * Finds a µWebSockets.js that loads on this machine: the one in FACEMATCH_UWS, or one of two versions that were
 * extracted from npm packages.
 */

/**
 * Versions in order of preference. Binaries of the first need glibc 2.38. Setup extracts the newest that loads; our
 * npm packages contain both.
 */
const versions = ['20.69.0', '20.51.4'] as const;

/** Returns the path of the binary of a version for this platform, CPU and Node release. */
export function extractedUws(version: string): string {
  const system = `${process.platform}-${process.arch}-${process.versions.node.split('.')[0]}`;
  return productPath(`build/uws/${version}/${system}/uws.node`);
}

/** Maximum size of headers that arrive in several packets, as in node:http. µWS's default is 4 KiB. */
const maxHeaders_bytes = 16 * 1024;

/** The parts of µWS's objects that facematch uses. docs/research/uws.md says when each is valid. */
export interface HttpRequest {
  forEach(visit: (name: string, value: string) => void): void;
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  /** Returns the value of the first header with this lower-case name; empty if absent. */
  getHeader(name: string): string;
  getQuery(): string | undefined;
}

export interface HttpResponse {
  writeStatus(status: string): this;
  writeHeader(name: string, value: string): this;
  end(body: string | Uint8Array, closeConnection?: boolean): this;
  endWithoutBody(): this;
  /** `ok`: all bytes of this call were sent. `done`: the response is complete. */
  tryEnd(body: string | Uint8Array, totalSize: number): [ok: boolean, done: boolean];
  getWriteOffset(): number;
  close(): this;
  cork(write: () => void): this;
  pause(): void;
  resume(): void;
  getRemoteAddress(): ArrayBuffer;
  onAborted(listener: () => void): this;
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): this;
  onWritable(listener: (offset: number) => boolean): this;
}

export interface App {
  any(pattern: '/*', handler: (res: HttpResponse, req: HttpRequest) => void): unknown;
  /** Calls back with 1 for each new connection, and with -1 for each that has ended. */
  filter(handler: (res: HttpResponse, change: number) => void): unknown;
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: ListenSocket | false) => void,
  ): unknown;
  /** Stops listening and closes every connection. */
  close(): unknown;
}

declare const listenSocket: unique symbol;
export interface ListenSocket {
  readonly [listenSocket]: never;
}

export interface Uws {
  App(): App;
  /**
   * Reads two PEM files once. `ssl_ciphers`: ciphers of TLS 1.2 in OpenSSL's format; those of TLS 1.3 are fixed.
   * Throws an Error without a reason if the files cannot be used.
   */
  SSLApp(options: { cert_file_name: string; key_file_name: string; ssl_ciphers: string }): App;
  us_socket_local_port(socket: ListenSocket): number;
  /**
   * Stops listening. Connections continue. Do not call it after `close` of the app, because it would use freed
   * memory.
   */
  us_listen_socket_close(socket: ListenSocket): void;
  /** Makes listening fail if the port is in use. By default µWS shares the port with the other process. */
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  version: string;
  /** One line for each earlier candidate, with the reason why it could not be used. */
  failures: readonly string[];
}

/**
 * Loads µWebSockets.js. `own`: folder of a package that is tried first. Call it before other threads start, because
 * it sets an environment variable. Throws an Error if no version can be used.
 */
export function loadUws(own = uwsFolder()): Uws {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(maxHeaders_bytes);
  const failures: string[] = [];
  const tried: { path: string; version?: string }[] = own === undefined ? [] : [{ path: resolve(own) }];
  for (const version of versions) tried.push({ path: extractedUws(version), version });
  for (const { path, version } of tried) {
    const loaded = tryLoad(path, version);
    if (typeof loaded !== 'string') return { ...loaded, failures };
    failures.push(`${version ?? path}: ${loaded}`);
  }
  throw new Error(
    `no binary of µWebSockets.js can be used (Node ${process.version}, ${process.platform} ${process.arch})\n` +
      failures.join('\n'),
  );
}

/**
 * Returns the loaded package, or the reason why it cannot be used. `known`: version of a build that setup or the npm
 * package provides.
 */
function tryLoad(path: string, known?: string): Omit<Uws, 'failures'> | string {
  const require = createRequire(import.meta.url);
  try {
    const version = known ?? versionOf(require.resolve(path));
    if (!isKnown(version)) return `its version ${version} is not 20.${minMinor} or a later 20.x`;
    // `getParts` and `_cfg` are undocumented.
    const loaded = require(path) as Uws & { getParts?: unknown; _cfg?(option: 'silent'): void };
    // Some republished packages fall back to a slow server in JavaScript, which has neither of these functions.
    if (typeof loaded.SSLApp !== 'function' || typeof loaded.getParts !== 'function') {
      return 'its binary did not load and it fell back to JavaScript, which facematch does not support';
    }
    // Removes the header `uWebSockets: 20` of every response.
    loaded._cfg?.('silent');
    return { ...loaded, version };
  } catch (error) {
    // If a module is missing, Node appends the list of requiring files, which is removed.
    const [reason = ''] = (error as Error).message.split('\nRequire stack:');
    return reason.split('\n').filter(Boolean).join(' ');
  }
}

/** Minimum minor version of 20.x; docs/uws-lifecycle.md covers it and later ones. */
const minMinor = 51;
const isKnown = (version: string) => Number(/^20\.(\d+)\./.exec(version)?.[1]) >= minMinor;

/** Returns the version in the package.json above the loaded file, because some packages do not export package.json. */
function versionOf(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        version?: string;
      };
      if (version) return version;
    } catch {
      // The file is not in this folder.
    }
  }
  return 'unknown';
}
