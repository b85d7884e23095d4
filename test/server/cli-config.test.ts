import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { settings, variableOf } from '../../src/config/config.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import { Home, TestServer } from './support/server.ts';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const config = (env: NodeJS.ProcessEnv, ...args: string[]) => run(program, ['config', ...args], folder, env);
const write = (content: object) => {
  writeFileSync(join(folder, 'facematch.json'), JSON.stringify(content));
  return { FACEMATCH_CONFIG: 'facematch.json' };
};

describe('facematch config', () => {
  test('has a line for every setting, with its value and where that comes from, also as JSON', async () => {
    const file = write({ FACEMATCH_PORT: 8081, FACEMATCH_ENDPOINTS: ['match', 'models'] });
    const { code, stdout, stderr } = await config({ ...file, FACEMATCH_QUEUE: '3' });
    expect([code, stderr]).toEqual([0, '']);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/));
    expect(rows.map(([variable]) => variable)).toEqual(Object.keys(settings).map(variableOf));
    expect(rows).toContainEqual(['FACEMATCH_CONFIG', 'facematch.json', 'environment']);
    expect(rows).toContainEqual(['FACEMATCH_PORT', '8081', 'file']);
    expect(rows).toContainEqual(['FACEMATCH_ENDPOINTS', 'match,models', 'file']);
    expect(rows).toContainEqual(['FACEMATCH_QUEUE', '3', 'environment']);
    expect(rows).toContainEqual(['FACEMATCH_CORS_ORIGINS', '-', 'default']);
    const { ok, faults, warnings, settings: shown } = JSON.parse((await config(file, '--json')).stdout);
    expect({ ok, faults, warnings }).toEqual({ ok: true, faults: [], warnings: [] });
    expect(shown).toMatchObject({
      FACEMATCH_PORT: { value: 8081, from: 'file' },
      FACEMATCH_CORS_ORIGINS: { value: [], from: 'default' },
    });
  });

  test('shows all that is wrong, and fails', async () => {
    const env = { ...write({ FACEMATCH_PROT: 1 }), FACEMATCH_QUEUE: 'many', FACEMATCH_HSOT: 'x' };
    const { code, stdout, stderr } = await config(env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FACEMATCH_QUEUE +16? .*default$|^FACEMATCH_QUEUE +\d+ +default$/m);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'warning: FACEMATCH_HSOT is not a setting and is ignored',
      'error: FACEMATCH_PROT: is not a setting; facematch config shows them all (facematch.json)',
      'error: FACEMATCH_QUEUE: expected a whole number from 0 to 100000 but received "many"',
    ]);
    expect(await config(env, '--check')).toMatchObject({ code: 1, stdout: '', stderr });
    const json = await config(env, '--check', '--json');
    expect(json).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(json.stdout)).toEqual({
      ok: false,
      faults: stderr.match(/(?<=error: ).*/g),
      warnings: stderr.match(/(?<=warning: ).*/g),
    });
  });

  test('says nothing of what is right with --check, and lets a foreign variable pass', async () => {
    expect(await config({}, '--check')).toEqual({ code: 0, stdout: '', stderr: '' });
    const { code, stderr } = await config({ FACEMATCH_HSOT: 'x' }, '--check');
    expect([code, stderr]).toEqual([0, 'warning: FACEMATCH_HSOT is not a setting and is ignored\n']);
  });
});

describe('a file of settings', () => {
  test('is what a server runs with', async () => {
    const home = new Home();
    const file = join(home.folder, 'facematch.json');
    writeFileSync(file, JSON.stringify({ FACEMATCH_ENDPOINTS: ['models'], FACEMATCH_LOG_LEVEL: 'debug' }));
    const server = await TestServer.start({ env: { FACEMATCH_CONFIG: file } }, home);
    expect((await fetch(server.url('/API/v1.0/openapi.json'))).status).toBe(404);
    expect(
      (await fetch(server.url('/API/v1.0/models'), { headers: { 'x-api-key': server.key } })).status,
    ).toBe(200);
    await server.stop();
  });

  test('does not make the demo speak TLS', async () => {
    const file = write({ FACEMATCH_TLS_CERT: 'x.pem', FACEMATCH_TLS_KEY: 'x.pem' });
    const { code, stdout, stderr } = await run(program, ['demo', '--json'], folder, file);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(stdout)).toMatchObject({ match: true });
  });
});
