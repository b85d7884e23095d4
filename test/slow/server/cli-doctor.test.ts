import { appendFileSync, cpSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { packDirectory } from '../../../src/engine/manifest.ts';
import { addKey, hasOpenssl, makePair } from '../../fixtures/credentials.ts';
import { diagnose, facematch } from '../../server/support/cli.ts';
import { redisInstalled, TestRedis } from '../../server/support/redis.ts';
import { newFolder } from '../../support/folder.ts';

/** Tests the doctor on a healthy installation and on broken ones. */

let folder: string;
let keysFile: string;
beforeEach(() => {
  folder = newFolder();
  keysFile = join(folder, 'keys.json');
});

const everything = (
  'machine, settings, npm packages, HTTP, native addon, ONNX Runtime, OpenCV, CPU, workers, open files, model pack, ' +
  'detector, close_detector, landmarks, embedder, cohort, human, occlusion, models, key file, limiter, TLS, port, admin port'
).split(', ');

describe('facematch doctor', () => {
  test('reports each check as JSON, without failures on a healthy system', async () => {
    addKey(keysFile);
    const { code, ok, findings, stderr } = await diagnose(folder);
    expect({ code, ok, stderr }).toEqual({ code: 0, ok: true, stderr: '' });
    expect(findings.map(({ what }) => what)).toEqual(everything);
    expect(findings.filter(({ status }) => status === 'fail')).toEqual([]);
  });

  test('prints one line for each check, and a verdict', async () => {
    addKey(keysFile);
    const env = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0' };
    const { code, stdout, stderr } = await facematch('doctor', folder, env);
    const [verdict, empty, ...lines] = stdout.trimEnd().split('\n').reverse();
    expect({ code, stderr, empty }).toEqual({ code: 0, stderr: '', empty: '' });
    expect(verdict).toMatch(/^(No problems found|0 failed, \d+ warnings?)\.$/);
    expect(lines.reverse().map((line) => line.slice(9, 25).trim())).toEqual(everything);
    expect(lines.find((line) => line.includes('settings'))).toBe(
      'ok       settings        valid; set: FACEMATCH_PORT, FACEMATCH_ADMIN_PORT',
    );
  });
});

describe('the key file', () => {
  test('warns about a missing file, and fails with --strict', async () => {
    const { code, ok, of } = await diagnose(folder, {}, { args: ['--strict'] });
    expect({ code, ok }).toEqual({ code: 1, ok: false });
    expect(of('key file')).toEqual({
      what: 'key file',
      status: 'warning',
      value: `${keysFile} does not exist`,
      fix: 'npx facematch keys create --name NAME',
    });
  });

  test('reports the file mode and the number of keys, and no part of a key', async () => {
    const keys = [addKey(keysFile), addKey(keysFile, 1)];
    const { of, stdout } = await diagnose(folder);
    const value = `${keysFile}, mode 600, 1 usable of 2 keys`;
    expect(of('key file')).toMatchObject({ status: 'ok', value });
    for (const { id, key } of keys) {
      expect(stdout).not.toContain(id);
      expect(stdout).not.toContain(key);
    }
    expect(stdout).not.toContain(JSON.parse(readFileSync(keysFile, 'utf8')).keys[0].sha256);
  });
});

describe.skipIf(!hasOpenssl)('TLS', () => {
  test.each([
    ['its matching key, with the expiry', 'one', 'ok', /one\.crt and its key, valid until 2/],
    ["another certificate's key as a failure", 'two', 'fail', /key of another certificate/],
  ])('reports a certificate and %s', async (_what, whose, status, value) => {
    const [{ cert }, { key }] = [makePair(folder, 'one'), makePair(folder, whose)];
    const { code, of } = await diagnose(folder, { FACEMATCH_TLS_CERT: cert, FACEMATCH_TLS_KEY: key });
    expect(code).toBe(status === 'ok' ? 0 : 1);
    expect(of('TLS')).toMatchObject({ status, value: expect.stringMatching(value) });
  });
});

test('reports each invalid setting in the doctor, and runs the other checks', async () => {
  const env = { FACEMATCH_QUEUE_CAPACITY: 'many', FACEMATCH_WORKERS: '256', FACEMATCH_PROT: '80' };
  const { code, findings, of } = await diagnose(folder, env);
  expect(code).toBe(1);
  const queue = 'FACEMATCH_QUEUE_CAPACITY: expected a whole number from 0 to 100000 but received "many"';
  expect(findings.filter(({ what }) => what === 'settings')).toMatchObject([
    { status: 'fail', value: queue },
    { status: 'warning', value: 'FACEMATCH_PROT is not a setting and is ignored' },
  ]);
  expect(findings.slice(2).map(({ what }) => what)).toEqual(everything.slice(1));
  // This setting has more workers than the machine has CPUs.
  const value = expect.stringMatching(/^256 workers on \d+ CPU/);
  expect(of('workers')).toMatchObject({ status: 'warning', value });
});

test('reports damaged or missing files of a pack in the doctor, each in its line', async () => {
  const pack = join(folder, 'pack');
  cpSync(packDirectory('default'), pack, { recursive: true });
  const damage: [role: string, file: string, how: (file: string) => void, what: string][] = [
    ['embedder', 'embed.onnx', (file) => truncateSync(file, 5000), 'does not match the manifest'],
    ['detector', 'detect.onnx', (file) => appendFileSync(file, ' '), 'does not match the manifest'],
    ['landmarks', 'landmark.onnx', rmSync, 'is missing'],
    ['cohort', 'cohort.i8', truncateSync, 'does not match the manifest'],
    ['human', 'human.i8', rmSync, 'is missing'],
  ];
  for (const [, file, how] of damage) how(join(pack, file));
  const { code, of, findings } = await diagnose(folder, { FACEMATCH_PACK: pack });
  expect(code).toBe(1);
  const fix = expect.stringMatching(/npm run setup|git checkout -- models/);
  for (const [role, file, , what] of damage) {
    const value = expect.stringContaining(`${file} ${what}`);
    expect(of(role)).toMatchObject({ status: 'fail', value, fix });
  }
  expect(of('models').status).toBe('unknown');
  expect(findings.filter(({ status }) => status === 'fail')).toHaveLength(damage.length);
});

describe.skipIf(!redisInstalled)('the shared limiter', () => {
  let redis: TestRedis;
  afterEach(() => redis.kill());

  const checkRedis = async (url: string) => {
    const diagnosis = await diagnose(folder, { FACEMATCH_LIMITER: url });
    expect(diagnosis.stdout + diagnosis.stderr).not.toContain('hunter2');
    return diagnosis.of('limiter');
  };

  test('reports the version of Redis', async () => {
    redis = await TestRedis.start('--requirepass', 'hunter2');
    expect(await checkRedis(`redis://:hunter2@127.0.0.1:${redis.port}/1`)).toEqual({
      what: 'limiter',
      status: 'ok',
      value: expect.stringMatching(/^redis:\/\/:\*\*\*@127\.0\.0\.1:\d+\/1 responds, Redis \d+\.\d+\.\d+$/),
    });
  });

  test.each([
    ['another password', 'redis://:hunter2@127.0.0.1:PORT', /WRONGPASS/, /user and password/],
    ['a missing database', 'redis://:right@127.0.0.1:PORT/99', /DB index/, /database/],
    ['TLS on a port without TLS', 'rediss://127.0.0.1:PORT', /no response|closed/, /Start Redis/],
  ])('warns about %s and says how to fix it', async (_what, url, value, fix) => {
    redis = await TestRedis.start('--requirepass', 'right');
    expect(await checkRedis(url.replace('PORT', String(redis.port)))).toMatchObject({
      status: 'warning',
      value: expect.stringMatching(value),
      fix: expect.stringMatching(fix),
    });
  });
});
