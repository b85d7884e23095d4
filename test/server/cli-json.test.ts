import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandTree, everyCommand } from '../../src/cli/command-tree.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { sample } from '../fixtures/pictures.ts';
import { built, program, run } from './support/cli.ts';
import { blank } from './support/pictures.ts';

/** With --json, standard output holds one JSON text and nothing else. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-json-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const facematch = (...args: string[]) => run(program, args, folder);

test('every command that tells something has --json', () => {
  const commands = everyCommand(commandTree(buildProgram())).filter(({ commands }) => commands.length === 0);
  const without = commands.filter(({ options }) => options.every(({ long }) => long !== '--json'));
  // A server's log is JSON anyway, and a script is for a shell.
  expect(without.map(({ path }) => path)).toEqual(['facematch serve', 'facematch completion']);
});

describe.skipIf(!built)('keys --json', () => {
  test('create gives the key, its settings and its status, and never the hash', async () => {
    const { code, stdout } = await facematch('keys', 'create', '--name', 'app', '--rate', '3', '--json');
    const made = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(made).toMatchObject({ name: 'app', rate: 3, burst: 100, status: 'active' });
    expect(made.key).toMatch(new RegExp(`^fm_${made.id}_\\w{43}$`));
    expect(made).not.toHaveProperty('sha256');
    const { key: _, ...listed } = made;
    expect(JSON.parse((await facematch('keys', 'list', '--json')).stdout)).toEqual([listed]);
  });

  test('rotate gives the new key, and the old one as retired', async () => {
    const old = JSON.parse((await facematch('keys', 'create', '--name', 'app', '--json')).stdout);
    const { stdout } = await facematch('keys', 'rotate', old.id, '--grace', '1h', '--json');
    const rotated = JSON.parse(stdout);
    expect(rotated).toMatchObject({
      name: 'app',
      status: 'active',
      retired: { id: old.id, status: 'retiring' },
    });
    expect(rotated.key).toMatch(new RegExp(`^fm_${rotated.id}_`));
    expect(rotated.id).not.toBe(old.id);
    expect(stdout).not.toContain('sha256');
  });

  test('revoke gives the key that is revoked', async () => {
    const { id } = JSON.parse((await facematch('keys', 'create', '--name', 'app', '--json')).stdout);
    const { code, stdout } = await facematch('keys', 'revoke', id, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id, status: 'revoked', revoked_at: expect.any(String) });
    expect(stdout).not.toContain('sha256');
  });

  test.each([
    ['revoke', 'abcdefghijkl'],
    ['rotate', 'abcdefghijkl'],
  ])('%s of a key that is not there prints nothing', async (command, id) => {
    await facematch('keys', 'create', '--name', 'app');
    const { code, stdout, stderr } = await facematch('keys', command, id, '--json');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('There is no key');
  });
});

describe.skipIf(!built)('demo --json', () => {
  const put = (name: string, bytes: Uint8Array) => writeFileSync(join(folder, name), bytes);

  test('prints the answer of the server, and leaves nothing behind', async () => {
    put('a.jpg', sample(1));
    put('b.jpg', sample(3));
    const { code, stdout, stderr } = await facematch('demo', '--json', 'a.jpg', 'b.jpg');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      match: true,
      threshold_percent: 70,
      accuracy_mode: 'balance',
    });
    expect(readdirSync(folder).sort()).toEqual(['a.jpg', 'b.jpg']);
  });

  test('prints nothing when the server refuses, and fails with its words', async () => {
    put('a.jpg', sample(1));
    put('b.png', await blank(60, 60, 'png'));
    const { code, stdout, stderr } = await facematch('demo', '--json', 'a.jpg', 'b.png');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('[no_face_found]');
  });
});
