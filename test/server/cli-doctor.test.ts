import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasOpenssl, makePair } from '../fixtures/certificates.ts';
import { addKey, expireKeys } from '../fixtures/key-files.ts';
import { built, type Outcome, program, run } from './support/cli.ts';
import { diagnose, diagnosisOf } from './support/doctor.ts';

/** The doctor in states that are really broken. */

let folder: string;
let keysFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-doctor-'));
  keysFile = join(folder, 'keys.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

const everything = [
  'settings',
  'Node',
  'system',
  'npm packages',
  'µWebSockets.js',
  'native addon',
  'ONNX Runtime',
  'OpenCV',
  'CPU',
  'workers',
  'model pack',
  'detector',
  'landmarks',
  'embedder',
  'cohort',
  'human',
  'nets',
  'key file',
  'limiter',
  'TLS',
  'port',
  'admin port',
];

describe.skipIf(!built)('facematch doctor', () => {
  test('has a line for everything, and finds nothing wrong where nothing is', async () => {
    addKey(keysFile);
    const { code, ok, findings, stderr } = await diagnose(folder);
    expect({ code, ok, stderr }).toEqual({ code: 0, ok: true, stderr: '' });
    expect(findings.map(({ what }) => what)).toEqual(everything);
    expect(findings.filter(({ status }) => status === 'wrong')).toEqual([]);
  });

  test('in words has one line for each, and a verdict', async () => {
    addKey(keysFile);
    const env = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0' };
    const { code, stdout, stderr } = await run(program, ['doctor'], folder, env);
    const [verdict, empty, ...lines] = stdout.trimEnd().split('\n').reverse();
    expect({ code, stderr, empty }).toEqual({ code: 0, stderr: '', empty: '' });
    expect(verdict).toMatch(/^(All is well|0 wrong, \d+ warnings?)\.$/);
    expect(lines.reverse().map((line) => line.slice(9, 25).trim())).toEqual(everything);
    expect(lines.find((line) => line.includes('settings'))).toBe(
      'ok       settings        valid; set: FACEMATCH_PORT, FACEMATCH_ADMIN_PORT',
    );
  });

  test('refuses an argument', async () => {
    expect(await run(program, ['doctor', 'all'], folder)).toMatchObject({ code: 2, stdout: '' });
  });
});

describe.skipIf(!built)('the key file', () => {
  test('that is missing is a warning, and a failure with --strict', async () => {
    const lenient = await diagnose(folder);
    expect(lenient.code).toBe(0);
    expect(lenient.of('key file')).toEqual({
      what: 'key file',
      status: 'warning',
      value: `${keysFile} does not exist`,
      cure: 'npx facematch keys create --name NAME',
    });
    expect(await diagnose(folder, {}, { args: ['--strict'] })).toMatchObject({ code: 1, ok: false });
  });

  test('is told with its mode and the number of its keys, and without anything of a key', async () => {
    const keys = [addKey(keysFile), addKey(keysFile, 1)];
    const { of, stdout } = await diagnose(folder);
    expect(of('key file')).toMatchObject({
      status: 'ok',
      value: `${keysFile}, mode 600, 1 usable of 2 keys`,
    });
    for (const { id, key } of keys) {
      expect(stdout).not.toContain(id);
      expect(stdout).not.toContain(key);
    }
    expect(stdout).not.toContain(JSON.parse(readFileSync(keysFile, 'utf8')).keys[0].sha256);
  });

  test('with expired keys alone is a warning', async () => {
    addKey(keysFile);
    expireKeys(keysFile);
    const { code, of } = await diagnose(folder);
    expect(code).toBe(0);
    expect(of('key file')).toMatchObject({
      status: 'warning',
      value: expect.stringContaining('0 usable of 1'),
    });
  });

  test.each([
    {
      what: 'open to others',
      damage: () => chmodSync(keysFile, 0o644),
      value: 'is open to other users',
      cure: 'chmod 600',
    },
    {
      what: 'cut short',
      damage: () => truncateSync(keysFile, 40),
      value: 'is not valid JSON',
      cure: 'Correct it',
    },
    {
      what: 'no key file',
      damage: () => writeFileSync(keysFile, '{}'),
      value: 'is not a key file',
      cure: 'Correct it',
    },
  ])('that is $what is wrong, with its cure', async ({ damage, value, cure }) => {
    addKey(keysFile);
    damage();
    const { code, of } = await diagnose(folder);
    expect(code).toBe(1);
    expect(of('key file')).toMatchObject({
      status: 'wrong',
      value: expect.stringContaining(value),
      cure: expect.stringContaining(cure),
    });
  });

  // Root may read everything: it lets somebody else ask.
  const stranger = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const may =
    spawnSync(process.execPath, [program, '--version'], { cwd: tmpdir(), ...stranger }).status === 0;
  if (built && !may)
    process.stderr.write('No unreadable key file is tested: another user may not run this\n');

  test.skipIf(!may)('that another user owns cannot be read, and says whom to ask', async () => {
    addKey(keysFile);
    chmodSync(folder, 0o755);
    if (!('uid' in stranger)) chmodSync(keysFile, 0);
    const env = { PATH: process.env.PATH, FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0' };
    const outcome = await new Promise<Outcome>((resolve) => {
      const options = { cwd: folder, env, ...stranger };
      execFile(process.execPath, [program, 'doctor', '--json'], options, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
    expect(outcome).toMatchObject({ code: 1, stderr: '' });
    expect(diagnosisOf(outcome).of('key file')).toMatchObject({
      status: 'wrong',
      value: `${keysFile} cannot be read (EACCES)`,
      cure: 'Check who owns it and its folder.',
    });
  });
});

describe.skipIf(!built || !hasOpenssl)('TLS', () => {
  const on = (cert: string, key: string) => ({ FACEMATCH_TLS_CERT: cert, FACEMATCH_TLS_KEY: key });

  test('that is off is well', async () => {
    expect((await diagnose(folder)).of('TLS')).toMatchObject({
      status: 'ok',
      value: expect.stringContaining('off'),
    });
  });

  test('with a certificate and its key is well, and says until when', async () => {
    const { cert, key } = makePair(folder, 'one');
    const { of } = await diagnose(folder, on(cert, key));
    expect(of('TLS')).toMatchObject({
      status: 'ok',
      value: expect.stringMatching(/one\.crt and its key, valid until 2/),
    });
  });

  test('with a key that everybody may read is a warning', async () => {
    const { cert, key } = makePair(folder, 'one');
    chmodSync(key, 0o644);
    expect((await diagnose(folder, on(cert, key))).of('TLS')).toMatchObject({ status: 'warning' });
  });

  test('with the key of another certificate is wrong', async () => {
    const { cert } = makePair(folder, 'one');
    const { key } = makePair(folder, 'two');
    const { code, of } = await diagnose(folder, on(cert, key));
    expect(code).toBe(1);
    expect(of('TLS')).toMatchObject({
      status: 'wrong',
      value: expect.stringContaining('key of another certificate'),
    });
  });

  test('with one file of two is a wrong setting', async () => {
    const { code, of } = await diagnose(folder, { FACEMATCH_TLS_KEY: 'one.key' });
    expect(code).toBe(1);
    expect(of('settings')).toMatchObject({
      status: 'wrong',
      value: expect.stringContaining('FACEMATCH_TLS_CERT'),
    });
  });
});

describe.skipIf(!built)('settings', () => {
  test('that are wrong have a line each, and the rest is looked at all the same', async () => {
    const env = { FACEMATCH_QUEUE: 'many', FACEMATCH_LOG_LEVEL: 'loud', FACEMATCH_PROT: '80' };
    const { code, findings } = await diagnose(folder, env);
    expect(code).toBe(1);
    expect(findings.slice(0, 3)).toMatchObject([
      {
        status: 'wrong',
        value: 'FACEMATCH_QUEUE: expected a whole number from 0 to 100000 but received "many"',
      },
      { status: 'wrong', value: expect.stringContaining('FACEMATCH_LOG_LEVEL: expected one of trace, ') },
      { status: 'warning', value: 'FACEMATCH_PROT is not a setting and is ignored' },
    ]);
    expect(findings.slice(3).map(({ what }) => what)).toEqual(everything.slice(1));
  });

  test('for more workers than CPUs are a warning', async () => {
    const { of } = await diagnose(folder, { FACEMATCH_WORKERS: '256' });
    expect(of('workers')).toMatchObject({
      status: 'warning',
      value: expect.stringMatching(/^256 workers on \d+ CPU/),
    });
  });
});
