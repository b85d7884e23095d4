import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  readConfig,
  type settings,
  surveySettings,
  unknownVariables,
  variableOf,
} from '../../src/config/config.ts';
import { cgroupQuota, cpuLimit } from '../../src/config/machine.ts';
import { RedisUrl } from '../../src/config/redis-url.ts';
import { namedPipe, newFolder } from '../support/folder.ts';

describe('readConfig', () => {
  test.each([
    ['FACEMATCH_PORT', '0', 'port', 0],
    ['FACEMATCH_PORT', '65535', 'port', 65_535],
    ['FACEMATCH_HOST', '::', 'host', '::'],
    ['FACEMATCH_HOST', 'localhost', 'host', 'localhost'],
    ['FACEMATCH_HOST', 'fe80::1%eth0', 'host', 'fe80::1%eth0'],
    ['FACEMATCH_LOG_LEVEL', 'silent', 'log_level', 'silent'],
    ['FACEMATCH_ENDPOINTS', 'match, models,match', 'endpoints', ['match', 'models']],
    ['FACEMATCH_CORS_ORIGINS', 'https://a.b,http://b:8080', 'cors_origins', ['https://a.b', 'http://b:8080']],
    ['FACEMATCH_CORS_ORIGINS', '*', 'cors_origins', ['*']],
    ['FACEMATCH_PORT', '', 'port', 8080],
    ['FACEMATCH_EXECUTION_PROVIDERS', 'cuda, cpu', 'execution_providers', ['cuda', 'cpu']],
  ])('accepts %s=%s', (variable, text, name, value) => {
    expect(readConfig({ [variable]: text })[name as keyof ReturnType<typeof readConfig>]).toEqual(value);
  });

  test.each([
    ['FACEMATCH_PORT', '65536'],
    ['FACEMATCH_PORT', '0x50'],
    ['FACEMATCH_PORT', '٨٠'],
    ['FACEMATCH_HOST', ' localhost'],
    ['FACEMATCH_HOST', '[::1]'],
    ['FACEMATCH_HOST', '127.0.0.1:8080'],
    ['FACEMATCH_ADMIN_HOST', 'http://127.0.0.1'],
    ['FACEMATCH_HOST', '/run/facematch.sock'],
    ['FACEMATCH_LOG_LEVEL', 'INFO'],
    ['FACEMATCH_ENDPOINTS', 'match,macth'],
    ['FACEMATCH_CORS_ORIGINS', 'example.org'],
    ['FACEMATCH_MAX_BODY_BYTES', '1000000000'],
    ['FACEMATCH_EXECUTION_PROVIDERS', 'CUDA'],
    ['FACEMATCH_EXECUTION_PROVIDERS', 'cpu,cuda'],
  ])('rejects %s=%s with one line that names both', (variable, text) => {
    const read = () => readConfig({ [variable]: text });
    expect(read).toThrow(
      new RegExp(`^${variable}: expected .+ but received ${JSON.stringify(text).replace('[', '\\[')}$`),
    );
  });

  test('explains the variable that Kubernetes sets for a Service named facematch', () => {
    const read = () => readConfig({ FACEMATCH_PORT: 'tcp://10.96.0.7:8080' });
    expect(read).toThrow(/^FACEMATCH_PORT: expected .* received "tcp:.*enableServiceLinks: false/);
  });

  test('raises the default upload memory to the maximum body size, and rejects less memory', () => {
    const large = { FACEMATCH_MAX_BODY_BYTES: String(800 * 1024 * 1024) };
    expect(readConfig(large)).toMatchObject({ upload_memory_bytes: 800 * 1024 * 1024 });
    const read = () => readConfig({ ...large, FACEMATCH_UPLOAD_MEMORY_BYTES: '1000000' });
    expect(read).toThrow(/FACEMATCH_UPLOAD_MEMORY_BYTES: expected at least/);
  });

  test.each([
    ['FACEMATCH_TLS_CERT', 'FACEMATCH_TLS_KEY'],
    ['FACEMATCH_TLS_KEY', 'FACEMATCH_TLS_CERT'],
  ])('fails if %s is set without %s', (given, lacking) => {
    const read = () => readConfig({ [given]: 'x.pem' });
    expect(read).toThrow(`${lacking}: expected a file, because ${given} is set`);
  });
});

test('reports a misspelt variable, but not known or unrelated ones', () => {
  const known = ['FACEMATCH_PORT', 'FACEMATCH_ADDON', 'FACEMATCH_UWS', 'HOME'];
  const env = Object.fromEntries([...known, 'FACEMATCH_PROT'].map((name) => [name, 'x']));
  expect(unknownVariables(env)).toEqual(['FACEMATCH_PROT']);
});

const folder = newFolder();
const file = join(folder, 'facematch.json');

function survey(content: unknown, env: NodeJS.ProcessEnv = {}) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return surveySettings({ FACEMATCH_CONFIG: file, ...env });
}

describe('a settings file', () => {
  test('may contain the default of every setting, as numbers, strings and lists', () => {
    const { config, sources } = surveySettings({});
    const all = Object.entries(config).filter(([name, value]) => name !== 'config' && String(value) !== '');
    const written = Object.fromEntries(all.map(([name, value]) => [variableOf(name), value]));
    const filled = survey(`\ufeff${JSON.stringify(written)}`);
    expect(filled.faults).toEqual([]);
    expect({ ...filled.config, config: '' }).toEqual(config);
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
    for (const [name] of all) expect(filled.sources[name as keyof typeof settings], name).toBe('file');
  });

  test('is overridden by a variable, but not by an empty one', () => {
    const written = {
      FACEMATCH_PORT: 1,
      FACEMATCH_QUEUE_CAPACITY: 2,
      FACEMATCH_WORKERS: 3,
      FACEMATCH_HOST: '',
    };
    const { config, sources } = survey(written, { FACEMATCH_PORT: '11', FACEMATCH_QUEUE_CAPACITY: '' });
    expect(config).toMatchObject({
      port: 11,
      queue_capacity: 2,
      workers: 3,
      max_parts: 16,
      host: '127.0.0.1',
    });
    expect(sources).toMatchObject({
      config: 'environment',
      port: 'environment',
      queue_capacity: 'file',
      workers: 'file',
      max_parts: 'default',
      host: 'default',
    });
  });

  test('changes the defaults that depend on its settings', () => {
    expect(survey({ FACEMATCH_WORKERS: 3 }).config.queue_capacity).toBe(24);
  });
});

describe('a renamed setting', () => {
  test('is reported with its new name, in the environment and in the file', () => {
    const renamed = 'was renamed to FACEMATCH_IMAGE_TIMEOUT_MS; use the new name';
    expect(() => readConfig({ FACEMATCH_PICTURE_MS: '3000' })).toThrow(`FACEMATCH_PICTURE_MS: ${renamed}`);
    expect(survey({ FACEMATCH_PICTURE_MS: 3000 }).faults).toEqual([
      expect.stringContaining(`FACEMATCH_PICTURE_MS: ${renamed}`),
    ]);
    expect(unknownVariables({ FACEMATCH_PICTURE_MS: '1' })).toEqual([]);
  });
});

describe('an invalid settings file', () => {
  const notSetting = 'is not a setting; facematch config lists all settings';
  const notValue = 'expected a string, a number, a boolean, or a non-empty list of them without commas';
  const notPort = 'expected a whole number from 0 to 65535 but received';

  test.each<[what: string, content: unknown, fault: string]>([
    ['a misspelt name', { FACEMATCH_PROT: 1 }, `FACEMATCH_PROT: ${notSetting}`],
    ['a name that JavaScript reserves', '{"__proto__": 1}', `__proto__: ${notSetting}`],
    ['the name of the file', { FACEMATCH_CONFIG: 'x' }, 'FACEMATCH_CONFIG: cannot be set in the file itself'],
    ['a fraction', { FACEMATCH_PORT: 80.5 }, `FACEMATCH_PORT: ${notPort} "80.5"`],
    ['a number that is too large', '{"FACEMATCH_PORT": 1e999}', `FACEMATCH_PORT: ${notPort} "Infinity"`],
    ['null', { FACEMATCH_PORT: null }, `FACEMATCH_PORT: ${notValue}`],
    ['an object', { FACEMATCH_PORT: { http: 80 } }, `FACEMATCH_PORT: ${notValue}`],
    ['a comma in a list', { FACEMATCH_ENDPOINTS: ['match,models'] }, `FACEMATCH_ENDPOINTS: ${notValue}`],
    ['a list at the top', [1], 'FACEMATCH_CONFIG: expected one JSON object { }'],
    ['half an object', '{"FACEMATCH_PORT": 8', 'FACEMATCH_CONFIG: not valid JSON, line 1, column 21'],
    [
      'half an object after a byte order mark',
      '\ufeff{\n  "FACEMATCH_PORT": 8',
      'FACEMATCH_CONFIG: not valid JSON, line 2, column 22',
    ],
  ])('is reported in one line that names the file: %s', (_what, content, fault) => {
    expect(survey(content).faults).toEqual([`${fault} (${file})`]);
  });

  test.each(['"secret', 'secret', '"secret" "B": 1', '["secret", secret]'])(
    'is reported without its content: %s',
    (value) => {
      const { faults } = survey(`{"FACEMATCH_LIMITER": ${value}}`);
      expect(faults).toEqual([expect.stringMatching(/^FACEMATCH_CONFIG: not valid JSON/)]);
      expect(faults[0]).not.toContain('secret');
    },
  );

  test('is reported with all errors, also in the environment, in overridden values and in combinations', () => {
    const wrong = { FACEMATCH_PROT: 1, FACEMATCH_QUEUE_CAPACITY: 'many', FACEMATCH_PORT: 'x' };
    const written = { ...wrong, FACEMATCH_TLS_CERT: 'x.pem' };
    const { faults } = survey(written, { FACEMATCH_WORKERS: '0', FACEMATCH_PORT: '1' });
    const names = ['PORT', 'PROT', 'QUEUE_CAPACITY', 'TLS_KEY', 'WORKERS'].map((name) => `FACEMATCH_${name}`);
    expect(faults.map((fault) => fault.split(':')[0]).sort()).toEqual(names);
  });

  test.each([
    { what: 'is missing', path: () => join(folder, 'nowhere.json'), fault: 'the file does not exist' },
    { what: 'is a folder', path: () => folder, fault: 'the file is not a regular file' },
    { what: 'is a device', path: () => '/dev/zero', fault: 'the file is not a regular file' },
    { what: 'is a named pipe', path: namedPipe, fault: 'the file is not a regular file' },
  ])('is reported if it $what', ({ path, fault }) => {
    const named = path();
    const { faults } = surveySettings({ FACEMATCH_CONFIG: named });
    expect(faults).toEqual([`FACEMATCH_CONFIG: ${fault} (${named})`]);
  });
});

const plain = { host: 'localhost', port: 6379, db: 0, tls: false, username: undefined, password: undefined };

const escaped = { username: 'app', password: 'p@s/w:' };

describe('the URL of a Redis server', () => {
  test.each([
    ['redis://localhost', {}, 'redis://localhost:6379/0'],
    ['redis://localhost/', {}, 'redis://localhost:6379/0'],
    ['redis://localhost:7000/15', { port: 7000, db: 15 }, 'redis://localhost:7000/15'],
    ['rediss://localhost', { tls: true }, 'rediss://localhost:6379/0'],
    ['redis://[::1]:7000', { host: '::1', port: 7000 }, 'redis://[::1]:7000/0'],
    ['redis://:secret@localhost', { password: 'secret' }, 'redis://:***@localhost:6379/0'],
    ['redis://app:p%40s%2Fw%3A@localhost/2', { ...escaped, db: 2 }, 'redis://app:***@localhost:6379/2'],
  ])('accepts %s', (text, parts, shown) => {
    const redisUrl = RedisUrl.parse(text)!;
    const { host, port, db, tls, username, password } = redisUrl;
    expect({ host, port, db, tls, username, password }).toEqual({ ...plain, ...parts });
    expect(String(redisUrl)).toBe(shown);
  });

  test.each([
    ...['', 'localhost:6379', 'http://localhost', 'redis://', 'redis://localhost:0', 'redis://a,redis://b'],
    ...['/db', '/0/1', '/0?password=x'].map((rest) => `redis://localhost${rest}`),
    ...['app', ':50%', ':pass word'].map((user) => `redis://${user}@localhost`),
    'redis://:secret@localhost\n',
  ])('rejects %j', (text) => {
    expect(RedisUrl.parse(text)).toBeUndefined();
  });

  test('hides the password when the configuration is printed', () => {
    const config = readConfig({ FACEMATCH_LIMITER: 'redis://app:hunter2@localhost' });
    const inspected = inspect(config, { depth: 9, showHidden: true });
    const printed = [JSON.stringify(config), inspected, `${config.limiter}`];
    for (const text of printed) expect(text).not.toContain('hunter2');
    expect(JSON.parse(printed[0]!).limiter).toBe('redis://app:***@localhost:6379/0');
  });

  test('is reported without its password if it is invalid', () => {
    const read = () => readConfig({ FACEMATCH_LIMITER: 'redis://app:hunter2@localhost:x' });
    expect(read).toThrow(
      /^FACEMATCH_LIMITER: expected local, or redis:.* but received a value that may contain a secret$/,
    );
  });
});

/** Returns the files of cgroup version 1 with this quota, in the cgroup /a. */
const version1 = (quota: string, cgroups: string) => ({
  '/proc/self/cgroup': cgroups,
  '/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us': `${quota}\n`,
  '/sys/fs/cgroup/cpu/a/cpu.cfs_period_us': '100000\n',
});
/** Returns the files of cgroup version 2: `path` as the process sees it, `quotas` by folder. */
const version2 = (path: string, quotas: Record<string, string>) => ({
  '/proc/self/cgroup': `0::${path}\n`,
  ...Object.fromEntries(
    Object.entries(quotas).map(([folder, quota]) => [`/sys/fs/cgroup${folder}/cpu.max`, `${quota} 100000\n`]),
  ),
});
const none = Number.POSITIVE_INFINITY;

test.each<[name: string, files: Record<string, string>, cpus: number]>([
  ['no cgroups', {}, none],
  ['version 2 without a quota', version2('/', { '': 'max' }), none],
  ['version 2 with half a CPU', version2('/', { '': '50000' }), 0.5],
  [
    'version 2 with the quota of an ancestor',
    version2('/pod/app', { '/pod/app': 'max', '/pod': '250000' }),
    2.5,
  ],
  ["version 2 in a container that sees the host's path", version2('/../../host', { '': '300000' }), 3],
  ['version 1 without a quota', version1('-1', '3:cpuset:/\n2:cpu,cpuacct:/a\n'), none],
  ['version 1 with a quota, together with version 2', version1('400000', '1:cpu:/a\n0::/\n'), 4],
  ['invalid files', version2('/\n\ngarbage', { '': 'abc def' }), none],
  ['a quota of 0', version2('/', { '': '0' }), none],
])('reads the CPU quota: %s', (_name, files, cpus) => {
  expect(cgroupQuota((file) => files[file])).toBe(cpus);
});

test('returns a CPU limit from one to the number of CPUs of this machine', () => {
  expect(cpuLimit()).toBeGreaterThanOrEqual(1);
  expect(cpuLimit()).toBeLessThanOrEqual(availableParallelism());
});
