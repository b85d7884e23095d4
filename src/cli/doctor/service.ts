import { statSync } from 'node:fs';
import { get } from 'node:http';
import { get as getByTls } from 'node:https';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { surveySettings } from '../../config/config.ts';
import { UnusableFile } from '../../config/file.ts';
import { repair } from '../../config/installation.mjs';
import type { PackFile } from '../../engine/pack-files.ts';
import { listenError, localAddress } from '../../http/listening.ts';
import { reachable } from '../../server/health.ts';
import { type Checks, type Finding, fail, firstLine, ok, unknown, warning } from './finding.ts';
import { probe, settingFix } from './machine.ts';

/** Checks of the files, the Redis server and the ports in the settings. */
export const serviceChecks: Checks = {
  /** Checks the manifest, each file, and that the models load. */
  async 'model pack'() {
    const { packDirectory, readManifest } = await import('../../engine/manifest.ts');
    const { packFiles, verifyFile } = await import('../../engine/pack-files.ts');
    const directory = packDirectory(surveySettings().config.pack);
    let manifest: ReturnType<typeof readManifest>;
    try {
      manifest = readManifest(directory);
    } catch (error) {
      const [first = '', ...members] = (error as Error).message.split('\n').map((line) => line.trim());
      const value = [first, members.join('; ')].filter(Boolean).join(' ');
      return [
        fail('model pack', value, `Correct FACEMATCH_PACK, or repair the pack: ${repair('pack files')}`),
      ];
    }
    const judge = async (one: PackFile) => {
      const { role, file } = one;
      try {
        await verifyFile(directory, manifest, one);
        return ok(role, `${file} has the SHA-256 of the manifest`);
      } catch (error) {
        if (error instanceof UnusableFile) return fail(role, `${file} ${error.reason}`, error.fix);
        throw error;
      }
    };
    const files = await Promise.all(packFiles(manifest).map(judge));
    const uncalibrated = warning(
      'calibration',
      'none: confidence_percent never exceeds 40',
      'facematch calibrate; see docs/packs.md',
    );
    return [
      ok('model pack', `${manifest.name} ${manifest.version} in ${directory}`),
      ...(manifest.calibration === undefined ? [uncalibrated] : []),
      ...files,
      files.every(({ status }) => status === 'ok')
        ? await modelsFinding(directory)
        : unknown('models', 'not loaded, because a file of the pack is missing or changed'),
    ];
  },

  /** Reports path, mode and number of keys; never a key or an id. */
  async 'key file'() {
    const { readKeyFile } = await import('../../auth/key-file.ts');
    const { statusOf } = await import('../../auth/keys.ts');
    const file = resolve(surveySettings().config.keys_file);
    const create = 'npx facematch keys create --name NAME';
    try {
      const records = readKeyFile(file);
      const usable = records.filter((record) =>
        ['active', 'retiring'].includes(statusOf(record, Date.now())),
      );
      const mode = (statSync(file).mode & 0o777).toString(8).padStart(3, '0');
      const value = `${file}, mode ${mode}, ${usable.length} usable of ${records.length} keys`;
      return [usable.length > 0 ? ok('key file', value) : warning('key file', value, create)];
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      const value = `${file} ${error.reason}`;
      return [error.missing ? warning('key file', value, create) : fail('key file', value, error.fix)];
    }
  },

  /**
   * Checks that the shared Redis can be used. A failure is only a warning, because a server would start and use
   * local rate limits.
   */
  async limiter() {
    const address = surveySettings().config.limiter;
    if (address === 'local') return [ok('limiter', 'local to each server')];
    const { RedisClient } = await import('../../auth/redis-client.ts');
    try {
      const client = await RedisClient.open(address);
      const version = await client.version();
      client.close();
      return [ok('limiter', `${address} responds${version === undefined ? '' : `, Redis ${version}`}`)];
    } catch (error) {
      const reason = firstLine(error);
      const fix = redisFixes.find(([complaint]) => complaint.test(reason))?.[1] ?? 'See docs/replicas.md';
      return [warning('limiter', `${address}: ${reason}; rate limits would be local to each server`, fix)];
    }
  },

  /** Checks the TLS certificate and its expiry. */
  async TLS() {
    const { certificateFiles, readCertificate } = await import('../../server/certificate.ts');
    const { tls_cert, tls_key } = surveySettings().config;
    const files = certificateFiles(tls_cert, tls_key);
    if (files === undefined) return [ok('TLS', 'off: the service uses plain HTTP')];
    try {
      const { not_after_s, warnings } = readCertificate(files, Date.now());
      if (warnings.length > 0) return warnings.map((text) => warning('TLS', text, 'See docs/proxies.md'));
      const end = new Date(not_after_s * 1000).toISOString();
      return [ok('TLS', `${files.cert} and its key, valid until ${end}`)];
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      return [fail('TLS', error.message, 'See docs/proxies.md')];
    }
  },

  /** Checks that a server could listen on its addresses. */
  async ports() {
    const { host, port, admin_host, admin_port, tls_cert } = surveySettings().config;
    const front = await listening('port', host, port, { tls: tls_cert !== '', prefix: 'FACEMATCH_' });
    const shared = host === admin_host || [host, admin_host].some((one) => reachable(one) !== one);
    if (port !== 0 && port === admin_port && shared) {
      const value = `${admin_host}:${admin_port} is also the port of the service`;
      return [front, fail('admin port', value, 'Set FACEMATCH_ADMIN_PORT to another port')];
    }
    const admin = { tls: false, prefix: 'FACEMATCH_ADMIN_' };
    return [front, await listening('admin port', admin_host, admin_port, admin)];
  },
};

async function modelsFinding(directory: string): Promise<Finding> {
  try {
    await probe('pack', directory);
    return ok('models', 'all load');
  } catch (error) {
    // Another check reports an addon that does not load.
    const loads = await probe('addon').catch(() => undefined);
    if (loads === undefined) return unknown('models', 'not loaded, because the native addon did not load');
    const complaint = firstLine(error);
    return fail('models', complaint, settingFix(complaint) ?? `Prepare the models again: ${repair('nets')}`);
  }
}

const correct = 'Correct FACEMATCH_LIMITER';

/** Fixes for errors of Redis and of the connection. */
const redisFixes: readonly (readonly [complaint: RegExp, fix: string])[] = [
  [/^(WRONGPASS|NOAUTH|ERR AUTH|ERR invalid password)/, `${correct}: its user and password`],
  [/^ERR DB index/, `${correct}: the number of its database`],
  [/^NOPERM/, 'Give this user the rights that docs/replicas.md lists'],
  [/^READONLY|^MOVED/, `${correct}: it must name a node that accepts writes`],
  [/^LOADING/, 'Wait until Redis has loaded its data'],
  [/^OOM/, 'Give Redis more memory, or set a maxmemory-policy that evicts keys'],
  [/certificate|altnames/, "Set NODE_EXTRA_CA_CERTS to the CA certificate that signed Redis's certificate"],
  [/ENOTFOUND|EAI_AGAIN/, `${correct}: its host`],
  [
    /ECONNREFUSED|no response|closed|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/,
    'Start Redis, or correct its URL in FACEMATCH_LIMITER',
  ],
];

/** Checks that a server could listen here. `prefix`: prefix of the listener's HOST and PORT variables. */
async function listening(
  what: string,
  host: string,
  port: number,
  { tls, prefix }: { tls: boolean; prefix: string },
): Promise<Finding> {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const code = await listenError(await localAddress(host), port);
  if (code === undefined) return ok(what, port === 0 ? `${host}, any free port` : `${place} is free`);
  if (code === 'EADDRINUSE') {
    const fix = `Stop it, or set ${prefix}PORT`;
    if (await isFacematch(reachable(host), port, tls)) {
      return warning(what, `${place} is used by a running facematch`, fix);
    }
    const find = `to find it: ss -ltnp 'sport = :${port}'`;
    return fail(what, `${place} is used by another program`, `${fix}; ${find}`);
  }
  const [fault, fix] = {
    EACCES: ['needs more privileges', `Set ${prefix}PORT to 1024 or more`],
    EADDRNOTAVAIL: [
      "is not one of this machine's addresses",
      `Set ${prefix}HOST to one of them, or to 0.0.0.0`,
    ],
  }[code] ?? [
    `cannot be listened on (${code})`,
    `Set ${prefix}HOST to an address, such as 127.0.0.1, and ${prefix}PORT`,
  ];
  return fail(what, `${place} ${fault}`, fix!);
}

const replyTimeout_ms = 2_000;

/** Requests /readyz: the service responds with a problem of its own type, the admin listener with a status. */
async function isFacematch(host: string, port: number, tls: boolean): Promise<boolean> {
  const { readinessStatuses } = await import('../../http/admin.ts');
  const { problemTypes } = await import('../../http/responses.ts');
  try {
    const { status, type }: { status?: unknown; type?: unknown } = JSON.parse(
      await firstReply(host, port, tls),
    );
    return String(type).startsWith(problemTypes) || readinessStatuses.some((one) => one === status);
  } catch {
    return false;
  }
}

/** Uses node:http, because undici 6 neither settles nor keeps the process alive when a server closes at once. */
function firstReply(host: string, port: number, tls: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(replyTimeout_ms);
    // The certificate need not be trusted, because no secret is sent.
    const options = { host, port, path: '/readyz', agent: false, signal, rejectUnauthorized: false } as const;
    const ask = tls ? getByTls : get;
    ask(options, (response) => {
      text(response).then(resolve, reject);
    }).on('error', reject);
  });
}
