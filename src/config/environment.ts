import { homedir } from 'node:os';
import { join } from 'node:path';

/** What is read from the environment besides the settings: without the settings' table, for threads that need no more. */

/** FACEMATCH_ADDON: a native addon to load instead of the one that was built here. For tests and sanitizers, so not a setting. */
export function addonFile(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.FACEMATCH_ADDON || undefined;
}

/** Turns off ONNX Runtime's telemetry. Call it before other threads start: they may read the environment. */
export function silenceOnnxRuntime(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= '1';
}

/** FACEMATCH_UWS: the folder of a µWebSockets.js to try first. Not a setting: it names code to load, as FACEMATCH_ADDON does. */
export function uwsFolder(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.FACEMATCH_UWS || undefined;
}

/** `npx facematch …`; npx does not pass every signal on, and may end alone. */
export function isStartedByNpx(env: NodeJS.ProcessEnv = process.env): boolean {
  return env.npm_command === 'exec';
}

/** Where files are kept that can be had again, as the XDG Base Directory Specification says. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const base = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(base, 'facematch');
}

/** The proxies of HTTPS_PROXY, HTTP_PROXY and NO_PROXY; undefined without any. As curl does, `host:port` is one of HTTP. */
export function proxies(env: NodeJS.ProcessEnv = process.env) {
  const read = (name: string) => env[name] || env[name.toUpperCase()] || '';
  const [httpsProxy, httpProxy] = ['https_proxy', 'http_proxy'].map((name) =>
    read(name).replace(/^(?![a-z]+:\/\/)(?=.)/i, 'http://'),
  ) as [string, string];
  if (!httpsProxy && !httpProxy) return undefined;
  return { httpsProxy, httpProxy, noProxy: read('no_proxy') };
}
