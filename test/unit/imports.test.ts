import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';

/** The floors from the top down; a room imports from its own floor and from those below. */
const floors = [
  ['cli'],
  ['server'],
  ['site', 'demo'],
  ['http'],
  ['auth', 'telemetry'],
  ['endpoints'],
  ['scoring'],
  ['engine'],
  ['config'],
];

test('imports run down the floors of src', () => {
  const src = projectPath('src');
  const floorOf = (file: string) =>
    floors.findIndex((rooms) => rooms.includes(relative(src, file).split('/')[0]!));
  const upward = floors.flat().flatMap((room) =>
    readdirSync(join(src, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?ts$/.test(name))
      .flatMap((name) => {
        const file = join(src, room, name);
        const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g);
        return [...imports].map(([, path]) => [file, join(dirname(file), path!)] as const);
      })
      .filter(([file, imported]) => floorOf(imported) >= 0 && floorOf(imported) < floorOf(file))
      .map((pair) => pair.map((file) => relative(src, file)).join(' imports ')),
  );
  expect(upward).toEqual([]);
});

test('the laboratory sees of src its door alone, and src nothing of the laboratory', () => {
  const sources = (folder: string) =>
    readdirSync(projectPath(folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?ts$/.test(name) && !name.startsWith('test/'))
      .map((name) => readFileSync(join(projectPath(folder), name), 'utf8'));
  const own = JSON.parse(readFileSync(projectPath('lab/package.json'), 'utf8'));
  const { dependencies } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
  const alone = Object.keys(own.dependencies).filter((name) => !(name in dependencies));
  expect(alone).toContain('undici');
  const inside = sources('src').flatMap((text) => text.match(/(?<=from '|import\(')[^']+/g) ?? []);
  expect(inside.filter((path) => /(?:^|\/)lab\//.test(path) || alone.includes(path))).toEqual([]);
  const outside = sources('lab').flatMap((text) => text.match(/(?<=from '|import\(')[^']*src\/[^']*/g) ?? []);
  expect(outside).toEqual([]);
});
