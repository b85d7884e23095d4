import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

/** The checklist of a release names nothing that there is not. */

const page = readFileSync(projectPath('docs/releasing.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
const commands = [...page.matchAll(/`((?:npm|npx|node) [^`]+)`/g)].map(([, command]) => command!);

/** What a command runs: a script of package.json, or a file. undefined: npm's own business. */
function thing(command: string): { kind: 'script' | 'file'; name: string } | undefined {
  const script = command.match(/^npm run ([\w:]+)|^npm (test)$/);
  if (script) return { kind: 'script', name: script[1] ?? script[2]! };
  const file = command.match(/^(?:node|npx vitest run) (\S+)/);
  return file ? { kind: 'file', name: file[1]! } : undefined;
}

test.each(commands)('%s exists', (command) => {
  const found = thing(command);
  if (found === undefined) expect(command).toMatch(/^npm (?:version|audit) ?/);
  else if (found.kind === 'script') expect(Object.keys(scripts)).toContain(found.name);
  else expect(existsSync(projectPath(found.name))).toBe(true);
});

test('every long proof is on the list', () => {
  const run = commands.map((command) => thing(command)?.name);
  const proofs = ['test', 'docs', 'bench', 'bench:native', 'soak', 'fuzz:server'];
  expect(run).toEqual(expect.arrayContaining(proofs));
  for (const file of ['model-card', 'overload', 'oracle', 'first-answer'])
    expect(run).toContain(`bench/${file}.mjs`);
});

test('the changelog is in the form that the list expects: a heading a version, the newest first', () => {
  const changelog = readFileSync(projectPath('CHANGELOG.md'), 'utf8');
  const headings = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading!);
  expect(headings[0]).toBe('[Unreleased]');
  for (const heading of headings.slice(1)) expect(heading).toMatch(/^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$/);
  const kinds = [...changelog.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind);
  expect(['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']).toEqual(
    expect.arrayContaining(kinds),
  );
});
