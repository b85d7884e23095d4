import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { everyCommand, helpOf } from '../../src/cli/help.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { settings, variableOf } from '../../src/config.ts';

const commands = everyCommand(buildProgram()).map(({ path, command }) => ({
  path,
  command,
  help: helpOf(command),
}));

/** The words after `facematch` in a line of shell: without comment, redirection and what stands around it. */
function wordsOf(example: string): string[] {
  const [, words] = /(?:^|[\s(])facematch(( [^#>)|]*)?)/.exec(example) ?? [];
  if (words === undefined) throw new Error(`There is no facematch in: ${example}`);
  return words.split(' ').filter(Boolean);
}

/** The path of the command that the words run, by the program's own definitions. Rejects as the program would. */
async function parse(words: readonly string[]): Promise<string> {
  let reached = '';
  const program = buildProgram();
  const prepare = (command: Command, path: string) => {
    command.configureOutput({ writeErr: () => {}, writeOut: () => {} });
    if (command.commands.length === 0) {
      command.action(() => {
        reached = path;
      });
    }
    for (const child of command.commands) prepare(child, `${path} ${child.name()}`);
  };
  prepare(program, 'facematch');
  await program.parseAsync(words, { from: 'user' });
  return reached;
}

describe.each(commands)('the help of $path', ({ path, help: { notes = '', examples } }) => {
  test('has an example', () => {
    expect(examples.length).toBeGreaterThan(0);
  });

  test.each(examples)('has an example that the program takes: %s', async (example) => {
    const reached = await parse(wordsOf(example));
    expect(`${reached} `.startsWith(`${path} `), `${reached} is run`).toBe(true);
  });

  test('names no variable that is not a setting', () => {
    const known = Object.keys(settings).map(variableOf);
    const named = [notes, ...examples].join('\n').match(/FACEMATCH_[A-Z_]+/g) ?? [];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});

test.each([
  { line: 'facematch match --no-such-option a.jpg b.jpg', code: 'commander.unknownOption' },
  { line: 'facematch match --mode best a.jpg b.jpg', code: 'commander.invalidArgument' },
  { line: 'facematch match a.jpg', code: 'commander.missingArgument' },
  { line: 'facematch keys create', code: 'commander.missingMandatoryOptionValue' },
  { line: 'facematch keys make', code: 'commander.unknownCommand' },
])('an example such as "$line" would be refused', async ({ line, code }) => {
  await expect(parse(wordsOf(line))).rejects.toMatchObject({ code });
});

test('every command, option and argument says what it does', () => {
  const described = commands.flatMap(({ command }) => [
    { description: command.description() },
    ...command.options,
    ...command.registeredArguments,
  ]);
  expect(described.filter(({ description }) => description === '')).toEqual([]);
});
