import { readSettingsFile } from './file.ts';
import { address, choice, integer, list, type Setting, text } from './kinds.ts';
import { cpuLimit } from './machine.ts';
import { renamedFaults, renamedSetting } from './old-names.ts';
import { RedisUrl } from './redis-url.ts';

/**
 * The settings table, from which docs/configuration.md is generated. config.max_body_bytes is
 * FACEMATCH_MAX_BODY_BYTES in the environment and in the settings file.
 */

/** The endpoints, defined in src/endpoints; true if FACEMATCH_ENDPOINTS enables them by default. */
const endpoints = {
  match: true,
  match_advanced: true,
  match_many: true,
  match_person: true,
  match_embeddings: false,
  challenge: false,
  match_live: false,
  detect: true,
  embed: false,
  models: true,
  openapi: true,
  docs: true,
  demo: true,
};
export type EndpointId = keyof typeof endpoints;
export const endpointIds = Object.keys(endpoints) as readonly EndpointId[];

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const transports = ['auto', 'uws', 'node'] as const;

/** The keep-alive timeout of µWebSockets.js in seconds; it cannot be changed. */
export const uwsKeepAlive_s = 10;

const MiB = 1024 * 1024;
const day_ms = 86_400_000;

export const settings = {
  config: text('', 'JSON file with settings, named as in this table. Cannot be set in the file itself'),

  host: address('127.0.0.1', 'Address that the service listens on; 0.0.0.0 or :: for all interfaces'),
  port: integer(0, 65_535, 8080, 'Port of the service; 0 picks a free port'),
  admin_host: address('127.0.0.1', 'Address of the admin listener (health, readiness, metrics)'),
  admin_hosts: list(
    (item) => /^[\w.-]+$/.test(item),
    'a comma-separated list of host names without ports, such as server,facematch-admin',
    [],
    'Host names accepted by the admin listener, in addition to IP addresses, localhost and FACEMATCH_ADMIN_HOST. Any other Host header gets 403, which prevents DNS rebinding',
  ),
  admin_port: integer(0, 65_535, 9090, 'Port of the admin listener; 0 picks a free port'),
  http: choice(
    transports,
    'auto',
    'HTTP server: `uws` (µWebSockets.js), `node` (node:http, slower), or `auto` (uws if its binary loads, otherwise node)',
  ),
  keep_alive_s: integer(
    1,
    3600,
    uwsKeepAlive_s,
    `Keep-alive timeout in seconds: how long an idle connection stays open. µWebSockets.js supports only ${uwsKeepAlive_s}`,
  ),
  tls_cert: text(
    '',
    'PEM file with the certificate, followed by its chain. The service then accepts only TLS. Read at startup',
  ),
  tls_key: text('', 'PEM file with the private key of the certificate. Set both files or neither'),

  keys_file: text('./keys.json', 'File with the hashed API keys'),
  pack: text('default', 'Model pack: the name of a folder in models/packs, or a path'),
  execution_providers: list(
    (item) => /^[a-z][a-z0-9]*$/.test(item),
    'a comma-separated list of names such as cpu, cuda or cuda,cpu',
    ['cpu'],
    'ONNX Runtime execution providers ([GPU](gpu.md))',
  ),
  onnxruntime_library: text('', 'Path of another build of the ONNX Runtime library, such as one with CUDA'),
  endpoints: list(
    (item) => (endpointIds as readonly string[]).includes(item),
    `a comma-separated list of ${endpointIds.join(', ')}`,
    endpointIds.filter((id) => endpoints[id]),
    'Enabled endpoints',
  ) as Setting<readonly EndpointId[]>,
  cors_origins: list(
    (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
    'a comma-separated list of origins such as https://example.org, or *',
    [],
    'Origins whose web pages may call the service (CORS)',
  ),

  workers: integer(1, 256, cpuLimit, 'Number of worker threads'),
  queue_capacity: integer(
    0,
    100_000,
    (config) => 8 * (config.workers as number),
    'Maximum queue length, in matches of two images each. Further requests get 503',
  ),
  embedding_cache_size: integer(
    0,
    100_000,
    0,
    'Maximum number of images whose faces and embeddings are cached in memory, never on disk. A key uses only its own entries; the least recently used are evicted. 0 disables the cache',
  ),
  deadline_ms: integer(
    1,
    day_ms,
    10_000,
    'Maximum time from the last byte of a request to its response, in ms. Slower requests get 504',
  ),
  upload_timeout_ms: integer(
    1,
    day_ms,
    30_000,
    'Maximum time from the request headers to the last byte of the body, in ms. Slower uploads get 408',
  ),
  upload_idle_timeout_s: integer(
    1,
    960,
    10,
    'Maximum pause within an upload, in seconds. Longer pauses get 408',
  ),
  shutdown_timeout_ms: integer(
    0,
    day_ms,
    15_000,
    'Maximum time that a shutdown waits for in-flight requests, in ms; then it closes their connections',
  ),

  max_body_bytes: integer(
    1024,
    900 * MiB,
    20 * MiB,
    'Maximum body size in bytes; JSON with base64 images may have 4/3 of this size plus 64 KiB. Larger bodies get 413',
  ),
  max_image_bytes: integer(
    1,
    900 * MiB,
    10 * MiB,
    'Maximum size of one image in bytes. Larger images get 413',
  ),
  upload_memory_bytes: integer(
    1024,
    Number.MAX_SAFE_INTEGER,
    (config) => Math.max(256 * MiB, config.max_body_bytes as number),
    'Maximum memory for the bodies of in-flight requests, in bytes; one key may use at most half, or one maximum body if that is larger. Further requests get 503',
  ),
  max_parts: integer(
    2,
    1000,
    16,
    'Maximum number of form parts, not counting repeats of a field. More parts get 400',
  ),
  max_part_header_bytes: integer(
    64,
    65_536,
    8192,
    'Maximum size of the headers of one part, in bytes. Larger headers get 400',
  ),
  max_field_bytes: integer(1, 65_536, 1024, 'Maximum size of a text field in bytes. Larger fields get 400'),
  max_pixels: integer(
    256,
    500_000_000,
    64_000_000,
    'Maximum number of pixels of an image (width × height), checked before decoding. Larger images get 422',
  ),
  image_timeout_ms: integer(
    1,
    day_ms,
    2000,
    'Maximum CPU time for decoding one image and finding its faces, in ms. Slower decoding gets 422; a slower search returns the faces found so far',
  ),
  min_image_side: integer(
    1,
    10_000,
    16,
    'Minimum length of the shorter side of an image, in pixels. Smaller images get 422',
  ),

  trusted_hops: integer(0, 16, 0, 'Number of proxies whose X-Forwarded-For header is trusted'),
  limiter: {
    parse: (value) => (value === 'local' ? value : RedisUrl.parse(value)),
    expected: 'local, or redis://[[user]:password@]host[:port][/db], or rediss:// for TLS',
    fallback: () => 'local',
    description:
      'Where rate limits are counted: `local` (in this process) or the URL of a Redis server that all replicas share',
    shown: String,
  } as Setting<'local' | RedisUrl>,
  challenge_steps: integer(
    1,
    4,
    2,
    'Number of head movements in a liveness challenge ([which number](liveness.md#decide))',
  ),
  challenge_seconds: integer(
    10,
    3600,
    60,
    'Lifetime of a liveness challenge in seconds. An expired challenge gets 400 `invalid_challenge`',
  ),
  challenge_secret_file: text(
    '',
    'File with the secrets that sign liveness challenges, one per line, at least 32 characters each ([rotation](liveness.md#enable-it)). Required if replicas share a Redis server. Without a file, the server generates a random secret at startup',
  ),
  token_ms: integer(
    1,
    day_ms,
    250,
    'CPU time in ms that one rate limit token covers. A request that uses more than its tokens cover takes further tokens when it ends',
  ),
  auth_failures_per_minute: integer(
    1,
    60_000,
    30,
    'Maximum failed authentications per minute for one client IP address. Further failures get 429',
  ),
  auth_failure_burst: integer(
    1,
    60_000,
    20,
    'Maximum burst of failed authentications for one client IP address',
  ),
  audit_log: text('', 'File of the [audit log](privacy.md#the-audit-log)'),
  log_client: choice(
    ['off', 'on'],
    'off',
    'Whether the log has the client IP address of each request (the /64 prefix for IPv6)',
  ),
  log_level: choice(logLevels, 'info', 'Minimum log level'),
};

type Valued<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [Name in keyof typeof settings]: Valued<(typeof settings)[Name]> };
export type SettingName = keyof Config;

export const variableOf = (name: string): string => `FACEMATCH_${name.toUpperCase()}`;

/** Reads every setting. Throws an Error with a one-line message for the first invalid setting. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const { config, faults } = surveySettings(env);
  if (faults[0] !== undefined) throw new Error(faults[0]);
  return config;
}

export type SettingSource = 'default' | 'environment' | 'file';

export interface SettingsSurvey {
  /** The settings. An invalid value is ignored, as if it were not set. */
  config: Config;
  /** One line per error: the variable and the error. */
  faults: readonly string[];
  sources: Readonly<Record<SettingName, SettingSource>>;
}

/** Reads every setting and returns all errors instead of throwing the first. */
export function surveySettings(env: NodeJS.ProcessEnv = process.env): SettingsSurvey {
  const config: Record<string, unknown> = {};
  const sources: Record<string, SettingSource> = {};
  const others = Object.keys(settings).filter((name) => name !== 'config');
  const file = readSettingsFile(
    settings.config.parse(env.FACEMATCH_CONFIG ?? '') ?? '',
    others.map(variableOf),
  );
  const faults = [...renamedFaults(env), ...file.faults];
  for (const [name, setting] of Object.entries<Setting<unknown>>(settings)) {
    const variable = variableOf(name);
    const read = (received: string | undefined, place = '') => {
      // An empty variable counts as unset, because compose files and unit files write `NAME=` for the default.
      if (!received) return undefined;
      const value = setting.parse(received);
      if (value === undefined) {
        const shown = setting.shown ? 'a value that may contain a secret' : JSON.stringify(received);
        faults.push(
          `${variable}: expected ${setting.expected} but received ${shown}${place}${serviceLinkFix(received)}`,
        );
      }
      return value;
    };
    const fromFile = read(file.values.get(variable), ` (${config.config})`);
    const fromEnv = read(env[variable]);
    sources[name] = fromEnv !== undefined ? 'environment' : fromFile !== undefined ? 'file' : 'default';
    config[name] = fromEnv ?? fromFile ?? setting.fallback(config);
  }
  const filled = Object.freeze(config) as Config;
  faults.push(...relationFaults(filled));
  return { config: filled, faults, sources: Object.freeze(sources) as SettingsSurvey['sources'] };
}

/** If a namespace has a Service named facematch, Kubernetes sets FACEMATCH_PORT to a URL in every pod. */
function serviceLinkFix(received: string): string {
  if (!/^(tcp|udp):\/\//.test(received)) return '';
  return ', which Kubernetes derives from the name of a Service. Set enableServiceLinks: false in the pod spec, or rename the Service';
}

function relationFaults(config: Config): string[] {
  const { upload_memory_bytes, max_body_bytes, tls_cert, tls_key, execution_providers } = config;
  const faults: string[] = [];
  const hasChallenges = config.endpoints.some((id) => id === 'challenge' || id === 'match_live');
  if (hasChallenges && config.limiter !== 'local' && config.challenge_secret_file === '') {
    faults.push(
      'FACEMATCH_CHALLENGE_SECRET_FILE: expected a file, because FACEMATCH_LIMITER is shared and every replica must accept the challenges of the others',
    );
  }
  if (upload_memory_bytes < max_body_bytes) {
    faults.push(
      `FACEMATCH_UPLOAD_MEMORY_BYTES: expected at least FACEMATCH_MAX_BODY_BYTES (${max_body_bytes}) but received "${upload_memory_bytes}"`,
    );
  }
  if (execution_providers.slice(0, -1).includes('cpu')) {
    faults.push(
      `FACEMATCH_EXECUTION_PROVIDERS: expected cpu last, because it runs the operators that the others do not support, but received "${execution_providers}"`,
    );
  }
  if ((tls_cert === '') !== (tls_key === '')) {
    const [lacking, given] = tls_key === '' ? ['KEY', 'CERT'] : ['CERT', 'KEY'];
    faults.push(`FACEMATCH_TLS_${lacking}: expected a file, because FACEMATCH_TLS_${given} is set`);
  }
  return faults;
}

export function shownValue(name: SettingName, value: Config[SettingName]): Config[SettingName] {
  const { shown } = settings[name] as Setting<unknown>;
  return shown === undefined ? value : shown(value);
}

/** Returns the names of environment variables that begin with FACEMATCH_ and are neither known nor renamed. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = new Set(['FACEMATCH_ADDON', 'FACEMATCH_UWS', ...Object.keys(settings).map(variableOf)]);
  return Object.keys(env).filter(
    (name) => name.startsWith('FACEMATCH_') && !known.has(name) && renamedSetting(name) === undefined,
  );
}
