import type * as UWS from 'uWebSockets.js';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { uwsFolder } from '../environment.ts';

/**
 * Finds a native µWebSockets.js that works on this machine: the one of FACEMATCH_UWS, or else one of two npm packages
 * (docs/uws-lifecycle.md says how they differ).
 */
export type { HttpRequest, HttpResponse } from 'uWebSockets.js';

/** The newest first: it is faster and stricter, but its binary needs glibc 2.38. */
const candidates = ['uWebSockets.js-v20.57', 'uWebSockets.js'] as const;

/** The part of an app that is used here. The older package's types lack `close`, and `listen` with host and options. */
export interface App {
  any(pattern: '/*', handler: (res: UWS.HttpResponse, req: UWS.HttpRequest) => void): unknown;
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: ListenSocket | false) => void,
  ): unknown;
  /** Stops listening and ends every connection. */
  close(): unknown;
}
export type ListenSocket = UWS.us_listen_socket;

interface TlsOptions {
  /** PEM files that µWS reads once, when the app is made. */
  cert_file_name: string;
  key_file_name: string;
  /** For TLS 1.2, in OpenSSL's format; those of TLS 1.3 cannot be chosen. */
  ssl_ciphers: string;
}

export interface Uws {
  App(): App;
  /** Throws an Error without a reason when the files cannot be used. */
  SSLApp(options: TlsOptions): App;
  us_socket_local_port(socket: ListenSocket): number;
  /** Connections of the app go on. Do not call it after `close` of the app: it would use freed memory. */
  us_listen_socket_close(socket: ListenSocket): void;
  /** Listening fails when the port is taken; the default would share it with the other process. */
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  /** The default: sockets opened this way share a port, unless it was 0. */
  LIBUS_LISTEN_SHARED_PORT: number;
  /** The version of the package. */
  version: string;
  /** Why the candidates before it could not be used, a line each. */
  passedOver: readonly string[];
}

/** `own`: a folder that holds a package, tried first. */
export function loadUws(own = uwsFolder()): Uws {
  const passedOver: string[] = [];
  for (const name of [...(own === undefined ? [] : [resolve(own)]), ...candidates]) {
    const loaded = tryLoad(name);
    if (typeof loaded !== 'string') return { ...loaded, passedOver };
    passedOver.push(`${name}: ${loaded}`);
  }
  throw new Error(
    `µWebSockets.js has no binary that runs here (Node ${process.version}, ${process.platform} ${process.arch})\n` +
      passedOver.join('\n'),
  );
}

function tryLoad(name: string): Omit<Uws, 'passedOver'> | string {
  const require = createRequire(import.meta.url);
  try {
    const file = require.resolve(name);
    const version = versionOf(file);
    if (!isKnown(version)) return `its version ${version} is not 20.${oldestKnown} or a later one of 20`;
    if (lacksBinary(file)) return `it has no binary for Node ${process.versions.node}`;
    const loaded = require(name) as Record<string, unknown>;
    // When its binary does not load, the older package falls back to a slow server in JavaScript and only prints a note.
    // The fallback has no SSLApp and no getParts; the native module has both.
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
      version,
    };
  } catch (error) {
    // Node adds the list of requiring files when a module is missing.
    const [reason = ''] = (error as Error).message.split('\nRequire stack:');
    return reason.split('\n').filter(Boolean).join(' ');
  }
}

/** The older package without a binary for this Node would print several lines and fall back to JavaScript. */
function lacksBinary(file: string): boolean {
  const folder = join(dirname(file), '../binaries');
  const { platform, arch, versions } = process;
  return existsSync(folder) && !existsSync(join(folder, `uws_${platform}_${arch}_${versions.modules}.node`));
}

/** The rules of docs/uws-lifecycle.md come from the sources of 20.30 and later. */
const oldestKnown = 30;
const isKnown = (version: string) => Number(/^20\.(\d+)\./.exec(version)?.[1]) >= oldestKnown;

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
