import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from 'vitest';
import { defaultScopes } from '../../../src/auth/keys.ts';
import { execute, expectFailure, facematch, facematchInHost, program } from '../../server/support/cli.ts';
import { newFolder } from '../../support/folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = newFolder();
  file = join(folder, 'keys.json');
});

const keys = (line: string, env?: NodeJS.ProcessEnv) => facematchInHost(`keys ${line}`, folder, env);
/** Runs a keys command in a separate process. */
const keysAlone = (line: string) => facematch(`keys ${line}`, folder);

async function createKey(): Promise<{ id: string; key: string }> {
  const key = (await keys('create --name app')).stdout.trimEnd();
  return { id: key.slice(3, 15), key };
}

const list = async (): Promise<{ id: string; status: string }[]> =>
  JSON.parse((await keys('list --json')).stdout);

describe('facematch keys create', () => {
  test('prints only the key to standard output, and stores only its hash', async () => {
    const { code, stdout, stderr } = await facematch(['keys', 'create', '--name', 'my app'], folder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^fm_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}\n$/);
    const key = stdout.trimEnd();
    expect(stderr).toContain(key.slice(3, 15));
    expect(stderr).not.toContain(key.slice(16));
    const stored = readFileSync(file, 'utf8');
    expect(stored).toContain(createHash('sha256').update(key).digest('hex'));
    expect(stored).not.toContain(key.slice(16));
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('prints the key with every option and its status (--json), and never the hash', async () => {
    const limits = '--rate 2.5 --burst 7 --concurrent 3 --scopes match:basic --expires 90d --note a-note';
    const { code, stdout } = await keys(`create --name app ${limits} --json`);
    const { key, ...made } = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(key).toMatch(new RegExp(`^fm_${made.id}_\\w{43}$`));
    const wanted = { rate: 2.5, burst: 7, concurrent: 3, scopes: ['match:basic'], note: 'a-note' };
    expect(made).toMatchObject({ name: 'app', ...wanted, status: 'active' });
    expect(made).not.toHaveProperty('sha256');
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(90 * 86_400_000);
    expect(await list()).toEqual([made]);
  });

  test('uses the file of --file, otherwise of FACEMATCH_KEYS_FILE', async () => {
    const env = { FACEMATCH_KEYS_FILE: join(folder, 'from-env.json') };
    await keys('create --name a', env);
    await keys('create --name a --file from-option.json', env);
    await keys('create --name a', { FACEMATCH_KEYS_FILE: '' });
    for (const name of ['from-env.json', 'from-option.json', 'keys.json']) {
      expect(JSON.parse(readFileSync(join(folder, name), 'utf8')).keys).toHaveLength(1);
    }
  });

  test('loses no printed key when run six times at once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => keysAlone('create --name app')));
    const printed = outcomes.filter(({ code }) => code === 0).map(({ stdout }) => stdout.slice(3, 15));
    expect(printed.length).toBeGreaterThan(0);
    expect((await list()).map(({ id }) => id).toSorted()).toEqual(printed.toSorted());
    for (const outcome of outcomes.filter(({ code }) => code !== 0))
      expectFailure(outcome, 1, 'is being changed by another command');
  });

  // test/unit/keys.test.ts tests the rules for each value.
  test.each([
    ['', "required option '--name <name>' not specified"],
    [' --name ', "option '--name <name>' argument '' is invalid"],
    [' --name a --rate 1e3', "option '--rate <number>' argument '1e3' is invalid"],
    [' --name a --file ', "option '--file <path>' expects the path"],
    [' --name a --admin', "unknown option '--admin'"],
    [' --name a b', 'too many arguments'],
  ])('rejects create%s as wrong usage', async (options, message) => {
    expectFailure(await keys(`create${options}`), 2, message);
    expect(existsSync(file)).toBe(false);
  });
});

describe('facematch keys list', () => {
  test('lists each key and never a hash', async () => {
    const { id, key } = JSON.parse((await keys('create --name app --note for-the-website --json')).stdout);
    const { code, stdout } = await keys('list');
    expect(code).toBe(0);
    expect(defaultScopes).not.toContain('embed');
    const scopes = defaultScopes.join(',');
    expect(stdout).toMatch(new RegExp(`^${id} +app +active +${scopes} +50 +100 .*for-the-website$`, 'm'));
    const hash = createHash('sha256').update(key).digest('hex');
    expect(stdout + (await keys('list --json')).stdout).not.toContain(hash);
  });

  test('exits without an error if the reader closes the pipe', async () => {
    await createKey();
    const child = spawn(process.execPath, [program, 'keys', 'list'], { cwd: folder });
    child.stdout.destroy();
    const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect({ code: child.exitCode, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('facematch keys scopes', () => {
  test('changes the scopes and keeps the key', async () => {
    const { id } = await createKey();
    const { code, stdout, stderr } = await keysAlone(
      'scopes app --remove match:many,detect --add embed --json',
    );
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('match:embeddings, match:live, embed.'),
    });
    expect(await list()).toEqual([JSON.parse(stdout)]);
    expect(JSON.parse(stdout)).toMatchObject({ id, status: 'active' });
  });

  test.each([
    ['app', 'expected --add <list> or --remove <list>'],
    ['app --add admin', "option '--add <list>' argument 'admin' is invalid"],
    ['app --add detect --remove detect', '--add and --remove both name detect'],
  ])('rejects %s as wrong usage', async (options, message) => {
    await createKey();
    expectFailure(await keys(`scopes ${options}`), 2, message);
  });
});

describe('facematch keys revoke', () => {
  test('revokes one key, keeps the other, and may be repeated', async () => {
    const [a, b] = [await createKey(), await createKey()];
    expect(await keysAlone(`revoke ${a.id}`)).toMatchObject({ code: 0, stdout: '' });
    const first = await list();
    expect(first.map(({ id, status }) => [id, status])).toEqual([
      [a.id, 'revoked'],
      [b.id, 'active'],
    ]);
    expect((await keys(`revoke ${a.id}`)).code).toBe(0);
    expect(await list()).toEqual(first);
  });

  test('accepts the name of one active key, and rejects a name that two active keys share', async () => {
    const [one, two] = [(await createKey()).id, (await createKey()).id];
    expect((await keys('revoke app')).stderr).toContain(`Several keys are named app: ${one}, ${two}`);
    await keys(`revoke ${one}`);
    expect((await keys('revoke app --json')).stdout).toContain(two);
  });

  test('does not print a whole key that is given instead of an id', async () => {
    const { key } = await createKey();
    const outcome = await keys(`revoke ${key}`);
    expectFailure(outcome, 2, 'expected as <key>');
    expect(outcome.stderr).not.toContain(key.slice(16));
  });
});

describe('facematch keys with --json', () => {
  test('prints the new key, and the old one as retired (rotate)', async () => {
    const old = await createKey();
    const { stdout } = await keysAlone(`rotate ${old.id} --grace 1h --json`);
    const rotated = JSON.parse(stdout);
    const retired = { id: old.id, status: 'retiring' };
    expect(rotated).toMatchObject({ name: 'app', status: 'active', retired });
    expect(rotated.key).toMatch(new RegExp(`^fm_${rotated.id}_`));
    expect(rotated.id).not.toBe(old.id);
    expect(stdout).not.toContain('sha256');
  });

  test.each(['revoke', 'rotate'])('prints an error and no JSON for an unknown key (%s)', async (command) => {
    await createKey();
    expectFailure(await keys(`${command} abcdefghijkl --json`), 1, 'There is no key');
  });
});

/** Runs a command with the file mounted as Docker and Kubernetes do; `options` are further mount commands. */
const mounted = (command: string, options: string) => {
  const script = `mount --bind "$1" "$1" && ${options} && shift && exec "$@"`;
  const args = ['--user', '--map-root-user', '--mount', 'sh', '-c', script, 'sh', file, process.execPath];
  return execute('unshare', [...args, program, 'keys', ...command.split(' '), '--file', file], folder, {
    ...process.env,
  });
};
const mayMount = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status === 0;
if (!mayMount)
  process.stderr.write('Skipped the tests of mounted key files: unshare cannot create namespaces here\n');

describe.skipIf(!mayMount)('a mounted key file', () => {
  beforeEach(async () => {
    await createKey();
  });

  test('may be readable by other users if it is read-only', async () => {
    chmodSync(file, 0o444);
    const { code, stdout, stderr } = await mounted('list', 'mount -o remount,bind,ro "$1"');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('app');
    expectFailure(await keys('list'), 1, 'chmod 600');
  });

  test('rejects changes, and states where to make them', async () => {
    const before = readFileSync(file, 'utf8');
    const outcome = await mounted('create --name b', 'true');
    expectFailure(outcome, 1, 'cannot be replaced (EBUSY). Run this command outside the container');
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(folder)).toEqual(['keys.json']);
    const options = `mount --bind ${folder} ${folder} && mount -o remount,bind,ro ${folder}`;
    const readOnly = await mounted('create --name b', options);
    expectFailure(readOnly, 1, 'a read-only folder (EROFS). Run this command outside the container');
  });
});
