import type * as UWS from 'uWebSockets.js';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Finds a native µWebSockets.js that works on this machine. It is not published under its own name, so two aliases of
 * it are tried (docs/uws-lifecycle.md says which rules of the two differ).
 */
export type { HttpRequest, HttpResponse } from 'uWebSockets.js';

/** The newest first: it is quicker and stricter, but its binary needs glibc 2.38. */
const candidates = ['uWebSockets.js-v20.57', 'uWebSockets.js'] as const;

/** The part of an app that is used. The older package's types lack `close`, and `listen` with host and options. */
export interface App {
  any(pattern: '/*', handler: (res: UWS.HttpResponse, req: UWS.HttpRequest) => void): unknown;
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: ListenSocket | false) => void,
  ): unknown;
  /** Ends the listening and every connection. */
  close(): unknown;
}
export type ListenSocket = UWS.us_listen_socket;

/** Of an app that speaks TLS. */
export interface TlsOptions {
  /** PEM files that µWS reads once, when the app is made. */
  cert_file_name: string;
  key_file_name: string;
  /** Of TLS 1.2, in OpenSSL's words; those of TLS 1.3 cannot be chosen. */
  ssl_ciphers: string;
}

export interface Uws {
  App(): App;
  /** Throws an Error that tells nothing when the files cannot be used. */
  SSLApp(options: TlsOptions): App;
  us_socket_local_port(socket: ListenSocket): number;
  /** Connections of the socket's app go on. Not after `close` of the app: it would touch freed memory. */
  us_listen_socket_close(socket: ListenSocket): void;
  /** Listening fails when the port is taken, where the default would share it with the other process. */
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  /** The default: sockets that were all opened so share a port, unless it was 0. */
  LIBUS_LISTEN_SHARED_PORT: number;
  /** Of the package, for the log. */
  version: string;
}

export function loadUws(): Uws {
  const failures: string[] = [];
  for (const name of candidates) {
    const loaded = tryLoad(name);
    if (typeof loaded !== 'string') return loaded;
    failures.push(`${name}: ${loaded}`);
  }
  throw new Error(
    `µWebSockets.js has no binary that runs here (Node ${process.version}, ${process.platform} ${process.arch}); ` +
      `use Node 20 on Linux with glibc, or install again with: npm ci\n${failures.join('\n')}`,
  );
}

function tryLoad(name: string): Uws | string {
  const require = createRequire(import.meta.url);
  try {
    const loaded = require(name) as Record<string, unknown>;
    // The older package answers a failed load with a slow server written in JavaScript, and only prints that it did.
    // The stand-in has no SSLApp and no getParts; the native module has both.
    if (typeof loaded.SSLApp !== 'function' || typeof loaded.getParts !== 'function') {
      return 'its binary did not load and it fell back to JavaScript, which is refused';
    }
    // Without this, each answer carries a header `uWebSockets: 20`.
    (loaded._cfg as ((option: string) => void) | undefined)?.('silent');
    return {
      App: loaded.App as Uws['App'],
      SSLApp: loaded.SSLApp as Uws['SSLApp'],
      us_socket_local_port: loaded.us_socket_local_port as Uws['us_socket_local_port'],
      us_listen_socket_close: loaded.us_listen_socket_close as Uws['us_listen_socket_close'],
      LIBUS_LISTEN_EXCLUSIVE_PORT: Number(loaded.LIBUS_LISTEN_EXCLUSIVE_PORT ?? 1),
      LIBUS_LISTEN_SHARED_PORT: 0,
      version: versionOf(require.resolve(name)),
    };
  } catch (error) {
    return (error as Error).message.split('\n').filter(Boolean).join(' ');
  }
}

/** The newer package exports no package.json, so it is looked for above the file that was loaded. */
function versionOf(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        version?: string;
      };
      if (version) return version;
    } catch {
      // Not in this folder.
    }
  }
  return 'unknown';
}
