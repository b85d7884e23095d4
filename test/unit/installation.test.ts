import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { containerMark, installation, type Part, repair } from '../../src/config/installation.mjs';
import { newFolder } from '../support/folder.ts';

/** Creates the folder of an installation with these files and this package.json. */
function folderWith(files: readonly string[], manifest: object = {}) {
  const folder = newFolder();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '1.2.3', ...manifest }));
  for (const file of files) writeFileSync(join(folder, file), '');
  return folder;
}

const clone = installation(folderWith(['CMakeLists.txt']));
const tarballs = installation(folderWith([]));
const fromRegistry = installation(
  folderWith([], { optionalDependencies: { '@facematch/linux-x64': '1.2.3' } }),
);
const container = installation(folderWith([containerMark]));
const parts: Part[] = ['program', 'addon', 'foreign addon', 'packages', 'nets', 'pack files', 'lab'];

describe('installation.mjs', () => {
  test('recognises a clone, a package and a container', () => {
    const kinds = [clone, tarballs, fromRegistry, container].map(({ kind }) => kind);
    expect(kinds).toEqual(['clone', 'package', 'package', 'container']);
  });

  test.each(parts)('suggests no clone or container for the %s of an installation from packages', (part) => {
    for (const own of [tarballs, fromRegistry]) expect(repair(part, own)).not.toMatch(/npm run|git |docker/);
  });

  test.each(parts)(
    'names files, not registry packages, for the %s of an installation from tarballs',
    (part) => {
      expect(repair(part, tarballs)).toMatch(/npm install (?:\.\/facematch-[\w.-]+\.tgz ?)+$/);
    },
  );

  test('names matching versions for an installation from a registry', () => {
    expect(repair('lab', fromRegistry)).toBe('npm install @facematch/lab@1.2.3');
    expect(repair('addon', fromRegistry)).toBe(
      'rm -rf node_modules && npm install --include=optional facematch@1.2.3',
    );
  });

  test.each(parts)('suggests the image or a clone for the %s of a container', (part) => {
    expect(repair(part, container)).toMatch(/^use (?:the image|a clone)/);
  });
});
