import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  readConfig,
  type Setting,
  settings,
  shownValue,
  surveySettings,
  variableOf,
} from '../../src/config.ts';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-settings-'));
  file = join(folder, 'facematch.json');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Settings of a file with this content, beside these variables. */
function survey(content: unknown, env: NodeJS.ProcessEnv = {}) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return surveySettings({ FACEMATCH_CONFIG: file, ...env });
}

describe('a file of settings', () => {
  test('may say numbers, texts and lists, each as the environment would have it or as JSON has it', () => {
    const { config, faults } = survey({
      FACEMATCH_PORT: 8443,
      FACEMATCH_QUEUE: '5',
      FACEMATCH_HOST: '::',
      FACEMATCH_ENDPOINTS: ['match', 'models'],
      FACEMATCH_CORS_ORIGINS: 'https://a.example,https://b.example',
      FACEMATCH_LOG_LEVEL: 'warn',
    });
    expect(faults).toEqual([]);
    expect(config).toMatchObject({
      port: 8443,
      queue: 5,
      host: '::',
      endpoints: ['match', 'models'],
      cors_origins: ['https://a.example', 'https://b.example'],
      log_level: 'warn',
    });
  });

  test('may hold the default of every setting', () => {
    const { config, sources } = surveySettings({});
    const all = Object.entries(config).filter(([name, value]) => name !== 'config' && String(value) !== '');
    const filled = survey(Object.fromEntries(all.map(([name, value]) => [variableOf(name), value])));
    expect(filled.faults).toEqual([]);
    expect({ ...filled.config, config: '' }).toEqual(config);
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
    for (const [name] of all) expect(filled.sources[name as keyof typeof settings], name).toBe('file');
  });

  test('gives way to a variable, and not to an empty one', () => {
    const written = { FACEMATCH_PORT: 1, FACEMATCH_QUEUE: 2, FACEMATCH_WORKERS: 3 };
    const { config, sources, set } = survey(written, { FACEMATCH_PORT: '11', FACEMATCH_QUEUE: '' });
    expect(config).toMatchObject({ port: 11, queue: 2, workers: 3, max_parts: 16 });
    expect(sources).toMatchObject({
      config: 'environment',
      port: 'environment',
      queue: 'file',
      workers: 'file',
      max_parts: 'default',
    });
    expect(set).toEqual(['FACEMATCH_CONFIG', 'FACEMATCH_PORT', 'FACEMATCH_WORKERS', 'FACEMATCH_QUEUE']);
  });

  test('feeds the defaults that depend on its settings', () => {
    expect(survey({ FACEMATCH_WORKERS: 3 }).config.queue).toBe(24);
  });

  test('has an empty text for what is not set', () => {
    const { config, faults, sources } = survey({ FACEMATCH_PORT: '' });
    expect([config.port, sources.port, faults]).toEqual([8080, 'default', []]);
  });

  test('stops the start with its first fault', () => {
    writeFileSync(file, '{"FACEMATCH_PORT": 99999}');
    const read = () => readConfig({ FACEMATCH_CONFIG: file });
    const where = `(${file}, line 1, column 2)`;
    expect(read).toThrow(
      `FACEMATCH_PORT: expected a whole number from 0 to 65535 but received "99999" ${where}`,
    );
  });
});

describe('a file with faults', () => {
  const place = () => `(${file}, line 1, column 2)`;

  test.each<[what: string, content: unknown, fault: () => string]>([
    [
      'a misspelt name',
      { FACEMATCH_PROT: 1 },
      () => `FACEMATCH_PROT: is not a setting; perhaps FACEMATCH_PORT ${place()}`,
    ],
    [
      'a name in small letters',
      { max_body_bytes: 1 },
      () => `max_body_bytes: is not a setting; perhaps FACEMATCH_MAX_BODY_BYTES ${place()}`,
    ],
    [
      'a name with hyphens',
      { 'log-level': 'info' },
      () => `log-level: is not a setting; perhaps FACEMATCH_LOG_LEVEL ${place()}`,
    ],
    ['a name like no other', { colour: 'red' }, () => `colour: is not a setting ${place()}`],
    ['a name of JavaScript', '{"__proto__": 1}', () => `__proto__: is not a setting ${place()}`],
    [
      'the name of the file',
      { FACEMATCH_CONFIG: 'x' },
      () => `FACEMATCH_CONFIG: cannot be set in the file itself ${place()}`,
    ],
    [
      'a name twice',
      '{"FACEMATCH_PORT": 1,\n "FACEMATCH_PORT": 2}',
      () => `FACEMATCH_PORT: stands there twice (${file}, line 2, column 2)`,
    ],
    [
      'a fraction',
      { FACEMATCH_PORT: 80.5 },
      () => `FACEMATCH_PORT: expected a whole number from 0 to 65535 but received "80.5" ${place()}`,
    ],
    [
      'a switch for a number',
      { FACEMATCH_PORT: true },
      () => `FACEMATCH_PORT: expected a whole number from 0 to 65535 but received "true" ${place()}`,
    ],
    [
      'a list for a number',
      { FACEMATCH_PORT: [80, 81] },
      () => `FACEMATCH_PORT: expected a whole number from 0 to 65535 but received "80,81" ${place()}`,
    ],
    [
      'an empty list',
      { FACEMATCH_ENDPOINTS: [] },
      () => `FACEMATCH_ENDPOINTS: expected at least one, without commas in it ${place()}`,
    ],
    [
      'a list with a comma within',
      { FACEMATCH_ENDPOINTS: ['match,models'] },
      () => `FACEMATCH_ENDPOINTS: expected at least one, without commas in it ${place()}`,
    ],
    [
      'no JSON',
      '{"FACEMATCH_PORT": 80,}',
      () => `FACEMATCH_CONFIG: ${file}, line 1, column 23: not JSON: property name expected`,
    ],
    ['nothing', '', () => `FACEMATCH_CONFIG: ${file}, line 1, column 1: not JSON: value expected`],
  ])('%s: one line that says where', (_what, content, fault) => {
    expect(survey(content).faults).toEqual([fault()]);
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
    {
      what: 'that is not there',
      path: () => join(folder, 'nowhere.json'),
      fault: /nowhere\.json does not exist$/,
    },
    { what: 'that is a folder', path: () => folder, fault: /cannot be read \(EISDIR\)$/ },
  ])('$what is told', ({ path, fault }) => {
    const { faults } = surveySettings({ FACEMATCH_CONFIG: path() });
    expect(faults).toEqual([expect.stringMatching(fault)]);
    expect(faults[0]).toMatch(/^FACEMATCH_CONFIG: /);
  });
});

describe('TLS files', () => {
  test.each([
    ['FACEMATCH_TLS_CERT', 'FACEMATCH_TLS_KEY'],
    ['FACEMATCH_TLS_KEY', 'FACEMATCH_TLS_CERT'],
  ])('%s alone names the other', (given, lacking) => {
    const read = () => readConfig({ [given]: 'x.pem' });
    expect(read).toThrow(`${lacking}: expected a file, because ${given} is set`);
  });
});

describe('a setting that holds a secret', () => {
  // Whichever it is: the table's entry is lent a way to be shown.
  const secret = settings.pack as Setting<string>;
  const { parse } = secret;
  beforeAll(() => {
    secret.shown = (value) => value.replace(/[^:]*@/, '***@');
    secret.parse = (value) => (value.startsWith('redis:') ? value : undefined);
  });
  afterAll(() => {
    delete secret.shown;
    secret.parse = parse;
  });

  test('is shown without it', () => {
    expect(shownValue('pack', 'redis://me:secret@host')).toBe('redis://me:***@host');
  });

  test.each(['environment', 'file'])('is not quoted when it is wrong in the %s', (where) => {
    const wrong = { FACEMATCH_PACK: 'rediss://me:secret@host' };
    const { faults } = where === 'file' ? survey(wrong) : surveySettings(wrong);
    expect(faults).toEqual([
      expect.stringMatching(/^FACEMATCH_PACK: expected .* but received something else/),
    ]);
    expect(faults[0]).not.toContain('secret@');
  });

  test('does not hide the others', () => {
    expect(shownValue('port', 80)).toBe(80);
    expect(shownValue('endpoints', ['match'])).toEqual(['match']);
  });
});
