import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

/** What comes into the image, and how it is found out what does not belong there. */

const { isUsed, neededPackages } = await import(projectPath('deploy/image/collect.mjs'));
const { faults, sizes } = await import(projectPath('deploy/image/contents.mjs'));

describe('the packages of the image', () => {
  const lock = {
    packages: {
      '': {
        dependencies: { a: '1', big: '1' },
        optionalDependencies: { other: '1' },
        devDependencies: { dev: '1' },
      },
      'node_modules/a': { dependencies: { b: '1', c: '1' } },
      'node_modules/a/node_modules/b': { dependencies: { c: '1', a: '1' } },
      'node_modules/b': {},
      'node_modules/big': { dependencies: { helper: '1' } },
      'node_modules/c': {},
      'node_modules/dev': {},
      'node_modules/helper': {},
      'node_modules/other': {},
    },
  };

  test('are found as Node finds them: the nearest, no dev ones, none that are not installed', () => {
    const there = (place: string) => place !== 'node_modules/other';
    expect(neededPackages(lock, there, { alone: (name: string) => name === 'big' })).toEqual([
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/big',
      'node_modules/c',
    ]);
  });

  test('are those that the server loads, without what only onnxruntime-node’s own JavaScript needs', () => {
    const own = JSON.parse(readFileSync(projectPath('package-lock.json'), 'utf8'));
    const needed = neededPackages(own, () => true, { alone: (name: string) => name === 'onnxruntime-node' });
    expect(needed).toEqual(
      expect.arrayContaining(['node_modules/onnxruntime-node', 'node_modules/piscina', 'node_modules/zod']),
    );
    for (const name of ['onnxruntime-common', 'global-agent', 'vitest', 'typescript'])
      expect(needed).not.toContain(`node_modules/${name}`);
  });

  test.each([
    ['LICENSE', true],
    ['LICENSE.md', true],
    ['license.md', true],
    ['dist/notice.md', true],
    ['README.md', false],
    ['docs', false],
    ['dist/index.d.ts', false],
  ])('keep their licences and what is loaded: %s %s', (file, kept) => {
    expect(isUsed(`node_modules/a/${file}`)).toBe(kept);
  });
});

describe('the look into an image', () => {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-contents-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  /** A root with these files; who runs the tests owns it, which is no fault of an image. */
  function rootWith(name: string, files: Record<string, string>): string {
    const root = join(folder, name);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return root;
  }
  const faultsOf = (root: string, secrets: string[] = []) =>
    (faults(root, secrets) as string[]).filter((fault) => !fault.startsWith('belongs to'));

  test('finds nothing wrong with what belongs there', () => {
    const root = rootWith('clean', {
      'usr/local/bin/node': '',
      'opt/facematch/THIRD_PARTY_NOTICES.md': '',
      'opt/facematch/dist/src/main.js': '',
      'root/.bashrc': '',
    });
    expect(faultsOf(root, ['mirror.example'])).toEqual([]);
  });

  test.each([
    ['a compiler or linker', 'usr/bin/x86_64-linux-gnu-g++-14'],
    ['a compiler or linker', 'usr/bin/make'],
    ['npm', 'usr/local/bin/npm'],
    ['a cache', 'root/.npm/x'],
    ['a cache', 'var/lib/apt/lists/x'],
    ['a cache', 'var/cache/apt/archives/x.deb'],
    ['headers', 'usr/include/png.h'],
    ['a driver for graphics', 'usr/lib/x86_64-linux-gnu/libLLVM.so.19.1'],
    ['pages for people', 'opt/facematch/node_modules/zod/README.md'],
    ['types, maps or sources', 'opt/facematch/dist/src/main.js.map'],
    ['binaries of another system', 'opt/facematch/node_modules/u/uws_darwin_arm64_137.node'],
    ['keys', 'etc/facematch/keys.json'],
  ])('finds %s: %s', (what, path) => {
    const root = rootWith(path.replaceAll('/', '-'), { [path]: '' });
    expect(faultsOf(root)).toContain(`${what}: /${path}`);
  });

  test('finds what only its owner may read, and what everybody may write', () => {
    const root = rootWith('modes', { 'opt/facematch/closed': '', 'etc/open': '' });
    chmodSync(join(root, 'opt/facematch/closed'), 0o600);
    chmodSync(join(root, 'etc/open'), 0o666);
    expect(faultsOf(root)).toEqual([
      'everybody may write /etc/open',
      'not for everybody to read: /opt/facematch/closed',
    ]);
  });

  test('finds a setting of the machine that built it', () => {
    const root = rootWith('secret', { 'etc/apt/sources.list': 'deb mirror.example trixie main' });
    expect(faultsOf(root, ['mirror.example'])).toEqual([
      'a setting of the building machine is in /etc/apt/sources.list',
    ]);
  });

  test('counts every byte once, and what is not ours or the base’s as libraries', () => {
    const base = rootWith('base', { 'etc/os-release': '12345' });
    const root = rootWith('image', {
      'etc/os-release': '12345',
      'usr/lib/libpng.so': '123',
      'usr/local/bin/node': '1234567',
      'opt/facematch/models/packs/default/embed.onnx': '12',
      'opt/facematch/package.json': '1',
    });
    expect(sizes(root, base)).toMatchObject({
      all: 18,
      parts: { Debian: 5, libraries: 3, Node: 7, 'nets and cohort': 2, 'addon and program': 1 },
    });
  });
});
