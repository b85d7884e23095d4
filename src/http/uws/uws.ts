import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { productPath, uwsFolder } from '../../config/paths.ts';

/**
 * Finds a µWebSockets.js that loads on this machine: that of FACEMATCH_UWS, or one of the two versions that
 * set-up extracts from npm packages.
 */

/**
 * The newest first; its binaries need glibc 2.38. Set-up extracts the one that loads (scripts/lib/uws.mjs).
 */
const versions = ['20.69.0', '20.51.4'] as const;

/** Name of the binary of a version for this platform, CPU and release of Node. */
export function liftedUws(version: string): string {
  const system = `${process.platform}-${process.arch}-${process.versions.node.split('.')[0]}`;
  return productPath(`build/uws/${version}/${system}/uws.node`);
}

/**
 * Maximum size in bytes of headers that arrive in several packets, the same as in node:http. µWS reads it
 * when it is loaded; its default is 4 KiB.
 */
const maxHeaders_bytes = 16 * 1024;

/** The parts of µWS's objects that are used here; docs/research/uws.md says when each is valid. */
export interface HttpRequest {
  forEach(visit: (name: string, value: string) => void): void;
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  /** Returns the first header of a lower-case name; empty if absent. */
  getHeader(name: string): string;
  getQuery(): string | undefined;
}

export interface HttpResponse {
  writeStatus(status: string): this;
  writeHeader(name: string, value: string): this;
  end(body: string | Uint8Array, closeConnection?: boolean): this;
  endWithoutBody(): this;
  /** Returns whether everything has been sent, and whether the response is complete. */
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
  /** Calls back with 1 for each new connection, and with -1 when it has ended. */
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
   * Reads two PEM files once. The ciphers are those of TLS 1.2, in OpenSSL's format; those of TLS 1.3 are
   * fixed. Throws an Error without a reason if the files cannot be used.
   */
  SSLApp(options: { cert_file_name: string; key_file_name: string; ssl_ciphers: string }): App;
  us_socket_local_port(socket: ListenSocket): number;
  /**
   * Stops listening; connections of the app continue. Do not call it after `close` of the app: it would use
   * freed memory.
   */
  us_listen_socket_close(socket: ListenSocket): void;
  /** Makes listening fail if the port is taken; the default would share it with the other process. */
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  version: string;
  /** One line for each earlier candidate, saying why it could not be used. */
  passedOver: readonly string[];
}

/**
 * `own`: a folder that contains a package, tried first. Call it before other threads start, because it sets
 * an environment variable.
 */
export function loadUws(own = uwsFolder()): Uws {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(maxHeaders_bytes);
  const passedOver: string[] = [];
  const tried: { path: string; version?: string }[] = own === undefined ? [] : [{ path: resolve(own) }];
  for (const version of versions) tried.push({ path: liftedUws(version), version });
  for (const { path, version } of tried) {
    const loaded = tryLoad(path, version);
    if (typeof loaded !== 'string') return { ...loaded, passedOver };
    passedOver.push(`${version ?? path}: ${loaded}`);
  }
  throw new Error(
    `µWebSockets.js has no binary that runs here (Node ${process.version}, ${process.platform} ${process.arch})\n` +
      passedOver.join('\n'),
  );
}

/** `known`: version of a build that set-up extracted; an operator's own build states it itself. */
function tryLoad(path: string, known?: string): Omit<Uws, 'passedOver'> | string {
  const require = createRequire(import.meta.url);
  try {
    const version = known ?? versionOf(require.resolve(path));
    if (!isKnown(version)) return `its version ${version} is not 20.${oldestKnown} or a later one of 20`;
    // No documentation mentions the last two.
    const loaded = require(path) as Uws & { getParts?: unknown; _cfg?(option: 'silent'): void };
    // Some republications fall back to a slow server in JavaScript, which lacks both.
    if (typeof loaded.SSLApp !== 'function' || typeof loaded.getParts !== 'function') {
      return 'its binary did not load and it fell back to JavaScript, which facematch does not support';
    }
    // Without this, each response has a header `uWebSockets: 20`.
    loaded._cfg?.('silent');
    return { ...loaded, version };
  } catch (error) {
    // Node appends the list of requiring files if a module is missing.
    const [reason = ''] = (error as Error).message.split('\nRequire stack:');
    return reason.split('\n').filter(Boolean).join(' ');
  }
}

/** The oldest version that docs/uws-lifecycle.md covers. */
const oldestKnown = 51;
const isKnown = (version: string) => Number(/^20\.(\d+)\./.exec(version)?.[1]) >= oldestKnown;

/** Some packages do not export package.json, so it is searched for above the loaded file. */
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
