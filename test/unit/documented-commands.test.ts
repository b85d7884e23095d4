import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { projectPath } from '../../src/config/paths.ts';
import { documentedCommands, pages } from '../support/doc-commands.ts';

/** Commands and links in the pages lead to something. What can be run is run by test/server/documented-requests.test.ts. */

const commands = documentedCommands();

/** Every command of the tree, made to do nothing. */
function idle(program: Command): Command {
  for (const command of program.commands) idle(command.action(() => {}));
  return program.configureOutput({ writeErr: () => {}, writeOut: () => {} });
}

const ours = commands.flatMap(
  ({ line }) => /^(?:\w+=\S+ )*(?:KEY=\$\()?(?:npx )?facematch ([^|>)…]+)/.exec(line)?.[1] ?? [],
);
test.each(ours)('the program takes: facematch %s', (words) => {
  const typed = [...words.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
  expect(() => idle(buildProgram()).parse(typed, { from: 'user' })).not.toThrow();
});

test('every npm script that is shown is there', () => {
  const { scripts } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
  const shown = [...pages.values()].join('\n').matchAll(/npm (?:run (\w[\w:-]*)|(start|test)\b)/g);
  const names = [...shown].map(([, run, own]) => run ?? own!);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !(name in scripts))).toEqual([]);
});

test.each([...pages.keys()])('every file that %s links to is there', (file) => {
  const targets = [...pages.get(file)!.matchAll(/\]\((?!https?:|#)([^()#\s]+)/g)].map(
    ([, target]) => target!,
  );
  const missing = targets.filter((target) => !existsSync(projectPath(join(dirname(file), target))));
  expect(missing).toEqual([]);
});
