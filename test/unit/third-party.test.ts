import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { filled } from '../../scripts/lib/generated-docs.mjs';
import { thirdPartyTables } from '../../scripts/lib/third-party.mjs';
import { projectPath } from '../../src/paths.ts';

/** Whose work facematch uses is told in full, by the lock file, the installed packages, the manifests and the addon. */

const lock: { packages: Record<string, { license?: string; dev?: boolean }> } = JSON.parse(
  readFileSync(projectPath('package-lock.json'), 'utf8'),
);

const page = readFileSync(projectPath('THIRD_PARTY_NOTICES.md'), 'utf8');

test('THIRD_PARTY_NOTICES.md is up to date; if not, run: npm run docs', () => {
  expect(page).toBe(filled('THIRD_PARTY_NOTICES.md', thirdPartyTables()));
  expect(page).toMatch(/^\| `zod` \| [\d.]+ \| MIT \| Copyright \(c\) \d{4} Colin McDonnell \|$/m);
  expect(page).not.toContain('`vitest`');
});

test('no package at run time has a licence that a service may not be built upon', () => {
  const licences = new Set(Object.values(lock.packages).flatMap(({ dev, license }) => (dev ? [] : license)));
  expect([...licences].sort()).toEqual(['(MIT OR CC0-1.0)', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT']);
});

const addon = projectPath('build/addon/Release/facematch.node');
const readelf = existsSync(addon) ? spawnSync('readelf', ['-d', addon], { encoding: 'utf8' }).stdout : null;
if (!readelf) process.stderr.write('What the addon links is not compared: no addon, or no readelf\n');
test.runIf(readelf)('every library that the addon links is named, and no other', () => {
  const needed = [...readelf!.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name]) => name!);
  // The compiler's and the system's own.
  const others = needed.filter((name) => !/^(?:libstdc\+\+|libgcc_s|libc|libm|ld-linux.*)\.so/.test(name));
  const [, table] = page.match(/^## Libraries(.*?)^## /ms)!;
  const named = [...table!.matchAll(/`(lib\w+)`/g)].map(([, name]) => name!);
  expect(others.map((name) => name.slice(0, name.indexOf('.'))).sort()).toEqual(named.sort());
});
