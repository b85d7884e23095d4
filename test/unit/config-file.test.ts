import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig, type settings, surveySettings, variableOf } from '../../src/config/config.ts';
import { newFolder } from '../support/folder.ts';

let folder: string;
let file: string;
beforeAll(() => {
  folder = newFolder();
  file = join(folder, 'facematch.json');
});

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
