import { readSettingsFile } from './file.ts';
import { address, choice, integer, list, type Setting, text } from './kinds.ts';
import { cpuLimit } from './machine.ts';
import { renamedFaults, renamedSetting } from './old-names.ts';
import { RedisAddress } from './redis-address.ts';

/**
 * The settings table: config.max_body_bytes is FACEMATCH_MAX_BODY_BYTES in the environment and in the file that FACEMATCH_CONFIG names.
 * docs/configuration.md is generated from it.
 */

/** The endpoints that FACEMATCH_ENDPOINTS switches on and off, and whether each is on by default; src/endpoints has what they are. */
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

/** The only time for which µWebSockets.js keeps a connection. */
export const uwsKeepAlive_s = 10;

const MiB = 1024 * 1024;
const day_ms = 86_400_000;

export const settings = {
  config: text(
    '',
    'JSON file of settings, by the names of this table; a variable in the environment wins. Cannot be set in the file itself',
  ),

  host: address('127.0.0.1', 'Address that the service listens on; 0.0.0.0 or :: for every interface'),
  port: integer(0, 65_535, 8080, 'Port of the service; 0 takes a free one'),
  admin_host: address('127.0.0.1', 'Address of the admin listener (health, readiness, metrics)'),
  admin_hosts: list(
    (item) => /^[\w.-]+$/.test(item),
    'a comma-separated list of names without ports, such as server,facematch-admin',
    [],
    'Names by which the admin listener may be asked, besides any IP address, localhost and FACEMATCH_ADMIN_HOST: a request with another Host gets 403, so that no web page reads it by DNS rebinding',
  ),
  admin_port: integer(0, 65_535, 9090, 'Port of the admin listener; 0 takes a free one'),
  http: choice(
    transports,
    'auto',
    'What speaks HTTP: uws (µWebSockets.js), node (node:http of Node, slower), or auto: uws, and node where no binary of it loads',
  ),
  keep_alive_s: integer(
    1,
    3600,
    uwsKeepAlive_s,
    `How long a connection is kept for its next request, in seconds; µWebSockets.js can only do ${uwsKeepAlive_s}`,
  ),
  tls_cert: text(
    '',
    'PEM file of the certificate, followed by those that signed it: the service then speaks TLS and no plain HTTP. It is read at the start',
  ),
  tls_key: text('', "PEM file of the certificate's private key; both files or none"),

  keys_file: text('./keys.json', 'File that holds the hashes of the API keys'),
  pack: text('default', 'Model pack: a name under models/packs, or a directory'),
  provider: list(
    (item) => /^[a-z][a-z0-9]*$/.test(item),
    'a comma-separated list of names such as cpu, cuda or cuda,cpu',
    ['cpu'],
    'Execution providers of ONNX Runtime that run the nets: with `cuda` a net that it cannot run as a whole ends the start, with `cuda,cpu` the processor runs the rest',
  ),
  onnxruntime: text(
    '',
    "File of another build of ONNX Runtime's library, such as the one for GPUs; the installed one when empty",
  ),
  endpoints: list(
    (item) => (endpointIds as readonly string[]).includes(item),
    `a comma-separated list out of ${endpointIds.join(', ')}`,
    endpointIds.filter((id) => endpoints[id]),
    'Endpoints that are switched on',
  ) as Setting<readonly EndpointId[]>,
  cors_origins: list(
    (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
    'a comma-separated list of origins such as https://example.org, or *',
    [],
    'Origins whose pages may call the service from a browser; none when empty',
  ),

  workers: integer(1, 256, cpuLimit, 'Worker threads; by default as many as the CPU quota allows'),
  queue_capacity: integer(
    0,
    100_000,
    (config) => 8 * (config.workers as number),
    'Matches, of two images each, that may wait for a worker; by default 8 for each worker',
  ),
  embedding_cache_size: integer(
    0,
    100_000,
    0,
    'Images whose faces and embeddings stay in memory (never on disk), so that a key that sends the same file again does not wait for its analysis; keys share no entries, the least recently used go first. 0 keeps none',
  ),
  deadline_ms: integer(1, day_ms, 10_000, 'Longest time from the last byte of a request to its answer'),
  upload_timeout_ms: integer(1, day_ms, 30_000, 'Longest time from the head of a request to its last byte'),
  idle_timeout_s: integer(1, 960, 10, 'Longest pause within an upload, in seconds'),
  shutdown_timeout_ms: integer(0, day_ms, 15_000, 'Longest time that a shutdown waits for running requests'),

  max_body_bytes: integer(
    1024,
    900 * MiB,
    20 * MiB,
    'Largest request body; of JSON with images a third more, and 64 KiB',
  ),
  max_image_bytes: integer(1, 900 * MiB, 10 * MiB, 'Largest image'),
  max_upload_bytes: integer(
    1024,
    Number.MAX_SAFE_INTEGER,
    (config) => Math.max(256 * MiB, config.max_body_bytes as number),
    'Most memory that the bodies of unanswered requests may take together; those of one key may take half of it',
  ),
  max_parts: integer(
    2,
    1000,
    16,
    'Most parts of a form, not counting further photos of a field that takes several',
  ),
  max_part_header_bytes: integer(64, 65_536, 8192, "Most bytes of one part's headers"),
  max_field_bytes: integer(1, 65_536, 1024, 'Most bytes of a text field'),
  max_pixels: integer(256, 500_000_000, 64_000_000, 'Most pixels of an image, checked before decoding'),
  image_timeout_ms: integer(
    1,
    day_ms,
    2000,
    'Most CPU time for decoding one image and finding its faces, in milliseconds',
  ),
  min_image_side: integer(1, 10_000, 16, "Least pixels of an image's shortest side"),

  trusted_hops: integer(0, 16, 0, 'Proxies in front of the service whose X-Forwarded-For is trusted'),
  limiter: {
    parse: (value) => (value === 'local' ? value : RedisAddress.parse(value)),
    expected: 'local, or redis://[[user]:password@]host[:port][/db], or rediss:// for TLS',
    fallback: () => 'local',
    description:
      'Where the rate limits of keys are counted: local in this process, or in a Redis that all replicas share',
    shown: String,
  } as Setting<'local' | RedisAddress>,
  challenge_steps: integer(
    1,
    4,
    2,
    'Number of head movements that a liveness challenge asks for. With one, a strongly bent print passes more often',
  ),
  challenge_seconds: integer(
    10,
    3600,
    60,
    'Time from a liveness challenge to its answer, in seconds. A later answer gets 400 `invalid_challenge`',
  ),
  challenge_secret_file: text(
    '',
    'File of secrets that sign liveness challenges, one per line, at least 32 characters each: the first one signs, all are accepted. The server follows changes. Required when several replicas share a Redis; without it, each process draws its own secret at startup',
  ),
  token_ms: integer(
    1,
    day_ms,
    250,
    "CPU time in milliseconds that one token of a key's rate limit pays for: a request that took more costs more tokens, taken after its response",
  ),
  auth_failures_per_minute: integer(1, 60_000, 30, 'Failed key checks per minute that one address may make'),
  auth_failure_burst: integer(1, 60_000, 20, 'Failed key checks that one address may make at once'),
  audit_log: text(
    '',
    'File to which each decision is appended as a line of JSON; none when empty. After moving the file away, send SIGHUP to open a new one',
  ),
  log_client: choice(
    ['off', 'on'],
    'off',
    "Whether the request log has the client's address: of IPv6 the /64, behind trusted proxies from X-Forwarded-For",
  ),
  log_level: choice(logLevels, 'info', 'Least severe level that is logged'),
};

type Valued<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [Name in keyof typeof settings]: Valued<(typeof settings)[Name]> };
export type SettingName = keyof Config;

export const variableOf = (name: string): string => `FACEMATCH_${name.toUpperCase()}`;

/** Reads every setting. Throws an Error of one line that names the variable, what is expected and what was received. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const { config, faults } = surveySettings(env);
  if (faults[0] !== undefined) throw new Error(faults[0]);
  return config;
}

export type SettingSource = 'default' | 'environment' | 'file';

export interface SettingsSurvey {
  /** A wrong value is replaced by its default. */
  config: Config;
  /** One line for each fault, with the variable, what is expected and what was received. */
  faults: readonly string[];
  sources: Readonly<Record<SettingName, SettingSource>>;
}

/** Like readConfig, but returns all faults instead of throwing the first. */
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
      // An empty variable counts as unset: compose files and unit files write `NAME=` for "the default".
      if (!received) return undefined;
      const value = setting.parse(received);
      if (value === undefined) {
        const shown = setting.shown ? 'a text that may hold a secret' : JSON.stringify(received);
        faults.push(
          `${variable}: expected ${setting.expected} but received ${shown}${place}${linkCure(received)}`,
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

/** Kubernetes tells every pod the address of a Service called facematch in FACEMATCH_PORT. */
function linkCure(received: string): string {
  if (!/^(tcp|udp):\/\//.test(received)) return '';
  return ', which Kubernetes sets for a Service of this name. Say enableServiceLinks: false in the spec of the pod, or give the Service another name';
}

function relationFaults(config: Config): string[] {
  const { max_upload_bytes, max_body_bytes, tls_cert, tls_key, provider } = config;
  const faults: string[] = [];
  const hasChallenges = config.endpoints.some((id) => id === 'challenge' || id === 'match_live');
  if (hasChallenges && config.limiter !== 'local' && config.challenge_secret_file === '') {
    faults.push(
      'FACEMATCH_CHALLENGE_SECRET_FILE: expected a file, because FACEMATCH_LIMITER is shared and every replica has to accept the challenges of the others',
    );
  }
  if (max_upload_bytes < max_body_bytes) {
    faults.push(
      `FACEMATCH_MAX_UPLOAD_BYTES: expected at least FACEMATCH_MAX_BODY_BYTES (${max_body_bytes}) but received "${max_upload_bytes}"`,
    );
  }
  if (provider.slice(0, -1).includes('cpu')) {
    faults.push(
      `FACEMATCH_PROVIDER: expected cpu last, because it runs what is left, but received "${provider}"`,
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

/** Variables that look like settings but are not: probably misspelt. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = new Set(['FACEMATCH_ADDON', 'FACEMATCH_UWS', ...Object.keys(settings).map(variableOf)]);
  return Object.keys(env).filter(
    (name) => name.startsWith('FACEMATCH_') && !known.has(name) && renamedSetting(name) === undefined,
  );
}
