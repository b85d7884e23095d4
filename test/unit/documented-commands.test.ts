import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commands as lab } from '../../lab/index.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { projectPath } from '../../src/config/paths.ts';
import { documentedCommands, pages } from '../support/doc-commands.ts';

/**
 * Tests the commands, links and names in the pages, and the imports and licences of the project.
 * test/slow/server/documented-requests.test.ts runs the commands that can be run.
 */

const commands = documentedCommands();

function idle(program: Command): Command {
  for (const command of program.commands) idle(command.action(() => {}));
  return program.configureOutput({ writeErr: () => {}, writeOut: () => {} });
}

const ours = commands.flatMap(
  ({ line }) => /^(?:\w+=\S+ )*(?:KEY=\$\()?(?:npx )?facematch ([^|>)…]+)/.exec(line)?.[1] ?? [],
);
test.each(ours)('accepts the documented command: facematch %s', (words) => {
  const typed = [...words.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
  expect(() => idle(buildProgram(lab)).parse(typed, { from: 'user' })).not.toThrow();
});

test('names only existing npm scripts in the pages', () => {
  const { scripts } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
  const shown = [...pages.values()].join('\n').matchAll(/npm (?:run (\w[\w:-]*)|(start|test)\b)/g);
  const names = [...shown].map(([, run, own]) => run ?? own!);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !(name in scripts))).toEqual([]);
});

test('names only existing project files in docs/releasing.md', () => {
  const page = pages.get('docs/releasing.md')!;
  const files = [...page.matchAll(/\b(?:deploy|bench|scripts|test|lab)\/[\w./-]*\w/g)].map(([file]) => file);
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !existsSync(projectPath(file)))).toEqual([]);
});

test('names the commit of every figure in the table of benchmarks', () => {
  const page = pages.get('docs/research/benchmarks.md')!;
  const [table] = /^\| what \| measured \| machine, commit.*?\n\n/ms.exec(page)!;
  const rows = table.split('\n').filter((row) => row.startsWith('| ') && !row.startsWith('| **'));
  const without = rows.slice(1).filter((row) => !/\b(?=[a-f]*\d)[0-9a-f]{7}\b/.test(row));
  expect(without).toEqual([]);
});

/** Returns the anchors of a page: headings as GitHub names them, and ids. */
function anchorsOf(text: string): Set<string> {
  const prose = text.replaceAll(/^```.*?^```$/gms, '');
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/\]\(.*?\)/g, '')
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...headings, ...[...prose.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)]);
}

const linking = new Map(pages).set('CHANGELOG.md', readFileSync(projectPath('CHANGELOG.md'), 'utf8'));
test.each([...linking.keys()])('links only to existing files and headings: %s', (file) => {
  const links = linking.get(file)!.matchAll(/\]\((?!https?:)([^()#\s]*)(?:#([^()\s]+))?\)/g);
  const broken = [...links].filter(([, target, anchor]) => {
    const path = target === '' ? file : join(dirname(file), target!);
    if (!existsSync(projectPath(path))) return true;
    return anchor !== undefined && path.endsWith('.md') && !anchorsOf(linking.get(path) ?? '').has(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

/** Paths of the repository's files. `names` has the file names without folders. */
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: projectPath('.'),
  encoding: 'utf8',
}).split('\n');
const folders = new Set(tracked.map((file) => dirname(file)));
const names = new Set(tracked.map((file) => basename(file)));
const rooted = /^(?:bench|deploy|docs|lab|models|native|scripts|src|test)\/[\w./-]*\w$/;
/** Files that a reader or a build creates or downloads. */
const externalNames = ['facematch.d.mts', 'facematch.mjs', 'first-match.mjs', 'onnxruntime_cxx_api.h'];
const bare = /^[\w-]+(?:\.\w+)*\.(?:cpp|h|mjs|mts|test\.ts|ts)$/;

test.each([...linking.keys()])('names only existing paths in code spans: %s', (file) => {
  const prose = linking.get(file)!.replaceAll(/^```.*?^```$/gms, '');
  const dead = prose
    .split('\n')
    // A measurement may name a file of the commit at which it was made.
    .filter((line) => !/\bcommit\b/.test(line))
    .flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].flatMap(([, span]) => span!.split(/[\s:=]+/)))
    .filter((word) =>
      rooted.test(word)
        ? !isThere(word)
        : bare.test(word) && !names.has(word) && !externalNames.includes(word),
    );
  expect(dead).toEqual([]);
});

/** Returns true for a tracked file or folder. */
function isThere(path: string): boolean {
  const folder = path.replace(/\/$/, '');
  return (
    tracked.includes(path) || folders.has(folder) || [...folders].some((one) => one.startsWith(`${folder}/`))
  );
}

test.each(['docs/', 'docs/research/'])('lists every page of the folder %s in its index', (folder) => {
  const own = [...pages.keys()].filter((file) => dirname(file) === dirname(`${folder}page.md`));
  expect(own.length).toBeGreaterThan(3);
  const index = pages.get(`${folder}README.md`)!;
  const unnamed = own.filter((file) => !index.includes(`(${file.slice(folder.length)})`));
  expect(unnamed).toEqual([`${folder}README.md`]);
});

test('shows the current version of the default pack in responses', () => {
  const { version } = JSON.parse(readFileSync(projectPath('models/packs/default/manifest.json'), 'utf8'));
  const shown = [...pages.values()]
    .join('\n')
    .matchAll(/"pack": "default", "(?:pack_)?version": "([\d.]+)"/g);
  const versions = [...shown].map(([, shownVersion]) => shownVersion);
  expect(versions.length).toBeGreaterThan(1);
  expect(new Set(versions)).toEqual(new Set([version]));
});

test('uses runtime packages with permissive licences only', () => {
  const { packages } = JSON.parse(readFileSync(projectPath('package-lock.json'), 'utf8'));
  // Leaves out this package and its workspaces, which have no `integrity`.
  const all = Object.values<{ dev?: boolean; integrity?: string; license?: string }>(packages);
  const licences = new Set(all.flatMap(({ dev, integrity, license }) => (dev || !integrity ? [] : license)));
  const allowed = ['(MIT OR CC0-1.0)', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'];
  expect([...licences].sort()).toEqual(allowed);
});

/** The layers of src, top first. A folder imports only from its own layer and from lower ones. */
const floors = [
  ['cli'],
  ['server'],
  ['site', 'demo'],
  ['http'],
  ['auth', 'telemetry'],
  ['endpoints'],
  ['words'],
  ['scoring'],
  ['engine'],
  ['config'],
];

test('imports only from lower layers of src', () => {
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

test('imports no file of src by its path in lab, and nothing of lab in src', () => {
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
