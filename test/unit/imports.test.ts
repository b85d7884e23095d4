import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

/**
 * Which room may import from which. Circles between files, type imports included, are found by the linter (noImportCycles).
 * Biome reads imports only when the rule is in the main part of biome.json: within `overrides` it never fires.
 */

const src = projectPath('src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .sort();
const textOf = (file: string) => readFileSync(join(src, file), 'utf8');

/** A file's own imports and re-exports, static or dynamic, relative to src/. */
function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(
    /^(?:import|export)\s[^;'"]*?from\s+'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm,
  );
  return [...found].map(([, named, dynamic]) => relative(src, join(src, dirname(file), named ?? dynamic!)));
}

/** The room is the folder; a file at the top is a room of its own. */
const roomOf = (file: string) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : file);

/** From the ground up: a room imports from itself and from rooms above its line, and so there is no circle of rooms. */
const rooms = [
  ['errors.ts', 'paths.ts', 'cpus.ts', 'redis-address.ts', 'html.ts', 'file-watch.ts', 'client'],
  ['version.ts', 'settings-file.ts', 'setting-kinds.ts'],
  ['config.ts'],
  ['health.ts', 'engine', 'gate', 'telemetry'],
  ['matching'],
  ['tls', 'http'],
  ['demo'],
  ['api'],
  ['eval', 'server'],
  ['main.ts'],
  ['cli'],
];
const lineOf = (file: string) => rooms.findIndex((line) => line.includes(roomOf(file)));

test('every room has its place', () => {
  expect([...new Set(files.map(roomOf))].sort()).toEqual(rooms.flat().sort());
});

test('a room imports only from itself and from the rooms under it', () => {
  const imports = files.flatMap((from) => importsOf(from).map((to) => ({ from, to })));
  expect(imports.length).toBeGreaterThan(200);
  const wrong = imports.filter(({ from, to }) => roomOf(from) !== roomOf(to) && lineOf(to) >= lineOf(from));
  expect(wrong).toEqual([]);
});
