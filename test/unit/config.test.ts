import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  readConfig,
  settings,
  surveySettings,
  unknownVariables,
  variableOf,
} from '../../src/config/config.ts';
import { cgroupQuota, cpuLimit } from '../../src/config/cpus.ts';
import { RedisAddress } from '../../src/config/redis-address.ts';
import { newFolder } from '../support/folder.ts';

describe('readConfig', () => {
  test('an empty environment gives the defaults of the contract', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      admin_host: '127.0.0.1',
      admin_port: 9090,
      keys_file: './keys.json',
      pack: 'default',
      deadline_ms: 10_000,
      upload_timeout_ms: 30_000,
      max_body_bytes: 20 * 1024 * 1024,
      max_image_bytes: 10 * 1024 * 1024,
      max_parts: 16,
      max_part_header_bytes: 8192,
      max_field_bytes: 1024,
      max_pixels: 64_000_000,
      picture_ms: 2000,
      min_side: 16,
      embedding_cache: 0,
      endpoints: ['match', 'match_advanced', 'match_many', 'detect', 'models', 'openapi', 'docs', 'demo'],
      cors_origins: [],
      trusted_hops: 0,
    });
  });

  test('the configuration cannot be changed afterwards', () => {
    const config = readConfig({ FACEMATCH_ENDPOINTS: 'match' });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.endpoints)).toBe(true);
  });

  test('every setting has a description, an expectation and a default that it accepts itself', () => {
    const config = readConfig({});
    for (const [name, setting] of Object.entries(settings)) {
      expect(setting.description, name).not.toBe('');
      const value = config[name as keyof typeof config];
      const text = String(value);
      // An empty list is written by leaving the variable out.
      if (text !== '') expect(setting.parse(text), name).toEqual(value);
    }
  });

  test.each([
    ['FACEMATCH_PORT', '0', 'port', 0],
    ['FACEMATCH_PORT', '65535', 'port', 65_535],
    ['FACEMATCH_HOST', '::', 'host', '::'],
    ['FACEMATCH_LOG_LEVEL', 'silent', 'log_level', 'silent'],
    ['FACEMATCH_ENDPOINTS', 'match, models,match', 'endpoints', ['match', 'models']],
    [
      'FACEMATCH_CORS_ORIGINS',
      'https://a.example,http://b.example:8080',
      'cors_origins',
      ['https://a.example', 'http://b.example:8080'],
    ],
    ['FACEMATCH_CORS_ORIGINS', '*', 'cors_origins', ['*']],
    ['FACEMATCH_PORT', '', 'port', 8080],
    ['FACEMATCH_PROVIDER', 'cuda, cpu', 'provider', ['cuda', 'cpu']],
  ])('%s=%s is taken', (variable, text, name, value) => {
    expect(readConfig({ [variable]: text })[name as keyof ReturnType<typeof readConfig>]).toEqual(value);
  });

  test.each([
    ['FACEMATCH_PORT', '65536'],
    ['FACEMATCH_PORT', '0x50'],
    ['FACEMATCH_PORT', '٨٠'],
    ['FACEMATCH_PORT', 'http'],
    ['FACEMATCH_HOST', ' localhost'],
    ['FACEMATCH_WORKERS', '0'],
    ['FACEMATCH_LOG_LEVEL', 'INFO'],
    ['FACEMATCH_ENDPOINTS', 'match,macth'],
    ['FACEMATCH_CORS_ORIGINS', 'example.org'],
    ['FACEMATCH_MAX_PARTS', '1'],
    ['FACEMATCH_IDLE_TIMEOUT_S', '961'],
    ['FACEMATCH_MAX_BODY_BYTES', '1000000000'],
    ['FACEMATCH_PROVIDER', 'CUDA'],
    ['FACEMATCH_PROVIDER', 'cpu,cuda'],
  ])('%s=%s stops the start with one line that names both', (variable, text) => {
    const read = () => readConfig({ [variable]: text });
    expect(read).toThrow(new RegExp(`^${variable}: expected .+ but received ${JSON.stringify(text)}$`));
  });

  test('bodies that fit the limit must fit the memory for uploads as well', () => {
    const env = { FACEMATCH_MAX_BODY_BYTES: '2000000', FACEMATCH_MAX_UPLOAD_BYTES: '1000000' };
    expect(() => readConfig(env)).toThrow(/FACEMATCH_MAX_UPLOAD_BYTES: expected at least/);
  });

  test.each([
    ['FACEMATCH_TLS_CERT', 'FACEMATCH_TLS_KEY'],
    ['FACEMATCH_TLS_KEY', 'FACEMATCH_TLS_CERT'],
  ])('%s alone names the other', (given, lacking) => {
    const read = () => readConfig({ [given]: 'x.pem' });
    expect(read).toThrow(`${lacking}: expected a file, because ${given} is set`);
  });

  test('a larger body limit raises the memory for uploads with it', () => {
    const config = readConfig({ FACEMATCH_MAX_BODY_BYTES: String(800 * 1024 * 1024) });
    expect(config.max_upload_bytes).toBe(config.max_body_bytes);
  });
});

test('a misspelt variable is noticed, a known one and a foreign one are not', () => {
  const env = {
    FACEMATCH_PROT: '1',
    FACEMATCH_PORT: '1',
    FACEMATCH_ADDON: 'x',
    FACEMATCH_UWS: 'x',
    HOME: 'x',
  };
  expect(unknownVariables(env)).toEqual(['FACEMATCH_PROT']);
});

const folder = newFolder();
const file = join(folder, 'facematch.json');

/** Settings of a file with this content, beside these variables. */
function survey(content: unknown, env: NodeJS.ProcessEnv = {}) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return surveySettings({ FACEMATCH_CONFIG: file, ...env });
}

describe('a file of settings', () => {
  test('may hold the default of every setting, as numbers, texts and lists', () => {
    const { config, sources } = surveySettings({});
    const all = Object.entries(config).filter(([name, value]) => name !== 'config' && String(value) !== '');
    const written = Object.fromEntries(all.map(([name, value]) => [variableOf(name), value]));
    const filled = survey(`\ufeff${JSON.stringify(written)}`);
    expect(filled.faults).toEqual([]);
    expect({ ...filled.config, config: '' }).toEqual(config);
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
    for (const [name] of all) expect(filled.sources[name as keyof typeof settings], name).toBe('file');
  });

  test('gives way to a variable, and not to an empty one', () => {
    const written = { FACEMATCH_PORT: 1, FACEMATCH_QUEUE: 2, FACEMATCH_WORKERS: 3, FACEMATCH_HOST: '' };
    const { config, sources, set } = survey(written, { FACEMATCH_PORT: '11', FACEMATCH_QUEUE: '' });
    expect(config).toMatchObject({ port: 11, queue: 2, workers: 3, max_parts: 16, host: '127.0.0.1' });
    expect(sources).toMatchObject({
      config: 'environment',
      port: 'environment',
      queue: 'file',
      workers: 'file',
      max_parts: 'default',
      host: 'default',
    });
    expect(set).toEqual(['FACEMATCH_CONFIG', 'FACEMATCH_PORT', 'FACEMATCH_WORKERS', 'FACEMATCH_QUEUE']);
  });

  test('feeds the defaults that depend on its settings', () => {
    expect(survey({ FACEMATCH_WORKERS: 3 }).config.queue).toBe(24);
  });

  test('stops the start with its first fault', () => {
    writeFileSync(file, '{"FACEMATCH_PORT": 99999}');
    const read = () => readConfig({ FACEMATCH_CONFIG: file });
    const fault = 'FACEMATCH_PORT: expected a whole number from 0 to 65535 but received "99999"';
    expect(read).toThrow(`${fault} (${file})`);
  });
});

describe('a file with faults', () => {
  const notSetting = 'is not a setting; facematch config shows them all';
  const notValue = 'expected a text, a number, true or false, or a list of them without commas in it';
  const notPort = 'expected a whole number from 0 to 65535 but received';

  test.each<[what: string, content: unknown, fault: string]>([
    ['a misspelt name', { FACEMATCH_PROT: 1 }, `FACEMATCH_PROT: ${notSetting}`],
    ['a name of JavaScript', '{"__proto__": 1}', `__proto__: ${notSetting}`],
    ['the name of the file', { FACEMATCH_CONFIG: 'x' }, 'FACEMATCH_CONFIG: cannot be set in the file itself'],
    ['a fraction', { FACEMATCH_PORT: 80.5 }, `FACEMATCH_PORT: ${notPort} "80.5"`],
    ['a number beyond all', '{"FACEMATCH_PORT": 1e999}', `FACEMATCH_PORT: ${notPort} "Infinity"`],
    ['null', { FACEMATCH_PORT: null }, `FACEMATCH_PORT: ${notValue}`],
    ['an object', { FACEMATCH_PORT: { http: 80 } }, `FACEMATCH_PORT: ${notValue}`],
    ['a comma in a list', { FACEMATCH_ENDPOINTS: ['match,models'] }, `FACEMATCH_ENDPOINTS: ${notValue}`],
    ['a list at the top', [1], 'FACEMATCH_CONFIG: expected one JSON object { }'],
    ['half an object', '{"FACEMATCH_PORT": 8', 'FACEMATCH_CONFIG: not valid JSON, line 1, column 21'],
  ])('%s: one line that names the file', (_what, content, fault) => {
    expect(survey(content).faults).toEqual([`${fault} (${file})`]);
  });

  test.each(['"secret', 'secret', '"secret" "B": 1', '["secret", secret]'])('%s is not shown', (value) => {
    const { faults } = survey(`{"FACEMATCH_LIMITER": ${value}}`);
    expect(faults).toEqual([expect.stringMatching(/^FACEMATCH_CONFIG: not valid JSON/)]);
    expect(faults[0]).not.toContain('secret');
  });

  test('tells all of them, those of the environment and those between settings as well', () => {
    const written = { FACEMATCH_PROT: 1, FACEMATCH_QUEUE: 'many', FACEMATCH_TLS_CERT: 'x.pem' };
    const { faults } = survey(written, { FACEMATCH_WORKERS: '0' });
    expect(faults.map((fault) => fault.split(':')[0]).sort()).toEqual([
      'FACEMATCH_PROT',
      'FACEMATCH_QUEUE',
      'FACEMATCH_TLS_KEY',
      'FACEMATCH_WORKERS',
    ]);
  });

  test('is at fault even where a variable wins', () => {
    expect(survey({ FACEMATCH_PORT: 'x' }, { FACEMATCH_PORT: '1' }).faults).toHaveLength(1);
  });

  test.each([
    { what: 'is not there', path: () => join(folder, 'nowhere.json'), fault: 'the file does not exist' },
    { what: 'is a folder', path: () => folder, fault: 'the file cannot be read (EISDIR)' },
  ])('that $what is told', ({ path, fault }) => {
    const { faults } = surveySettings({ FACEMATCH_CONFIG: path() });
    expect(faults).toEqual([`FACEMATCH_CONFIG: ${fault} (${path()})`]);
  });
});

const plain = { host: 'localhost', port: 6379, db: 0, tls: false, username: undefined, password: undefined };

describe('the address of a Redis', () => {
  test.each([
    ['redis://localhost', {}, 'redis://localhost:6379/0'],
    ['redis://localhost/', {}, 'redis://localhost:6379/0'],
    ['redis://localhost:7000/15', { port: 7000, db: 15 }, 'redis://localhost:7000/15'],
    ['rediss://localhost', { tls: true }, 'rediss://localhost:6379/0'],
    ['redis://[::1]:7000', { host: '::1', port: 7000 }, 'redis://[::1]:7000/0'],
    ['redis://:secret@localhost', { password: 'secret' }, 'redis://:***@localhost:6379/0'],
    [
      'redis://app:p%40ss%2Fw%3Ard@localhost/2',
      { username: 'app', password: 'p@ss/w:rd', db: 2 },
      'redis://app:***@localhost:6379/2',
    ],
  ])('%s is taken', (text, parts, shown) => {
    const address = RedisAddress.parse(text)!;
    const { host, port, db, tls, username, password } = address;
    expect({ host, port, db, tls, username, password }).toEqual({ ...plain, ...parts });
    expect(String(address)).toBe(shown);
  });

  test.each([
    ...[
      '',
      'localhost:6379',
      'http://localhost',
      'unix:///run/redis.sock',
      'redis://',
      'redis://localhost:0',
    ],
    ...[
      'redis://localhost/db',
      'redis://localhost/0/1',
      'redis://localhost/0?password=x',
      'redis://app@localhost',
    ],
    ...['redis://:50%@localhost', 'redis://:pass word@localhost', 'redis://:secret@localhost\n'],
    'redis://one,redis://two',
  ])('%j is refused', (text) => {
    expect(RedisAddress.parse(text)).toBeUndefined();
  });

  test('shows its password to nobody who prints the configuration', () => {
    const config = readConfig({ FACEMATCH_LIMITER: 'redis://app:hunter2@localhost' });
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: 9, showHidden: true }),
      `${config.limiter}`,
    ];
    for (const text of printed) expect(text).not.toContain('hunter2');
    expect(JSON.parse(printed[0]!).limiter).toBe('redis://app:***@localhost:6379/0');
  });

  test('that is wrong is named without its password', () => {
    expect(() => readConfig({ FACEMATCH_LIMITER: 'redis://app:hunter2@localhost:x' })).toThrow(
      'FACEMATCH_LIMITER: expected local, or redis://[[user]:password@]host[:port][/db], or rediss:// for TLS but received a text that may hold a secret',
    );
  });
});

const none = Number.POSITIVE_INFINITY;

test.each<[name: string, files: Record<string, string>, cpus: number]>([
  ['no cgroups', {}, none],
  [
    'version 2 without a quota',
    { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' },
    none,
  ],
  [
    'version 2 with half a CPU',
    { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '50000 100000\n' },
    0.5,
  ],
  [
    'version 2, the quota of an ancestor',
    {
      '/proc/self/cgroup': '0::/pod/app\n',
      '/sys/fs/cgroup/pod/app/cpu.max': 'max 100000\n',
      '/sys/fs/cgroup/pod/cpu.max': '250000 100000\n',
    },
    2.5,
  ],
  [
    "version 2 in a container that sees the host's path",
    { '/proc/self/cgroup': '0::/../../host/path\n', '/sys/fs/cgroup/cpu.max': '300000 100000\n' },
    3,
  ],
  [
    'version 1 without a quota',
    {
      '/proc/self/cgroup': '3:cpuset:/\n2:cpu,cpuacct:/a\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_period_us': '100000\n',
    },
    none,
  ],
  [
    'version 1 with a quota and version 2 beside it',
    {
      '/proc/self/cgroup': '1:cpu:/a\n0::/\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us': '400000\n',
      '/sys/fs/cgroup/cpu/a/cpu.cfs_period_us': '100000\n',
    },
    4,
  ],
  ['nonsense', { '/proc/self/cgroup': '0::/\n\ngarbage\n', '/sys/fs/cgroup/cpu.max': 'abc def\n' }, none],
  ['a quota of nothing', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '0 100000\n' }, none],
])('%s', (_name, files, cpus) => {
  expect(cgroupQuota((file) => files[file])).toBe(cpus);
});

test('this machine grants at least one CPU and no more than it has', () => {
  expect(cpuLimit()).toBeGreaterThanOrEqual(1);
  expect(cpuLimit()).toBeLessThanOrEqual(availableParallelism());
});
