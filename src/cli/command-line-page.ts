import { page, table } from '../api/markdown.ts';
import { type CommandNode, commandTree, everyCommand } from './command-tree.ts';
import { exitCodeWords } from './exit-codes.ts';
import { buildProgram } from './program.ts';

/** docs/command-line.md, made from the program's own definitions. */
export function commandLineMarkdown(): string {
  const program = commandTree(buildProgram());
  const commands = everyCommand(program).slice(1);
  return page(
    '# Command line',
    'In the project’s folder: `npx facematch COMMAND`. After `npm link`, run there once, `facematch COMMAND` anywhere; the ' +
      'examples are written so. Settings come from the [environment or a file](configuration.md).',
    table(
      ['command', 'does'],
      commands.map(({ path, description }) => [`[\`${path}\`](#${anchorOf(path)})`, description]),
    ),
    '## For scripts',
    table(
      ['exit code', 'means'],
      exitCodeWords.map(([code, meaning]) => [String(code), meaning]),
    ),
    'A command that a signal ended has 128 and the number of the signal from the shell: 130 after Ctrl-C. Results go to standard ' +
      'output, and everything else to standard error: messages, and on a terminal the progress of what takes longer. With ' +
      '`--json`, standard output holds the JSON and nothing else.',
    'Colours show on a terminal alone. `NO_COLOR=1` takes them away, `FORCE_COLOR=1` keeps them in a pipe.',
    ...commands.flatMap(section),
  );
}

function section(command: CommandNode): string[] {
  const { path, description, arguments: args, options, help } = command;
  const depth = '#'.repeat(path.split(' ').length);
  return [
    `${depth} ${path}`,
    `${sentence(description)}.`,
    `\`\`\`text\n${usageOf(command)}\n\`\`\``,
    ...(args.length === 0
      ? []
      : [
          table(
            ['argument', 'what'],
            args.map((arg) => [`\`${arg.term}\``, `${arg.description}${choicesOf(arg.value)}`]),
          ),
        ]),
    table(
      ['option', 'what'],
      options.map(({ flags, description, extra, required }) => [
        `\`${flags}\``,
        [
          description,
          ...(extra === undefined ? [] : [`(${extra})`]),
          ...(required ? ['(required)'] : []),
        ].join(' '),
      ]),
    ),
    ...(help.notes === undefined ? [] : help.notes.split('\n\n').map(paragraph)),
    `\`\`\`sh\n${help.examples.join('\n')}\n\`\`\``,
  ];
}

function usageOf({ path, arguments: args, options, commands }: CommandNode): string {
  const needed = options.filter(({ required }) => required).map(({ flags }) => flags);
  const rest = commands.length > 0 ? ['<command>'] : ['[options]', ...args.map(({ term }) => term)];
  return [path, ...needed, ...rest].join(' ');
}

function choicesOf(value: CommandNode['arguments'][number]['value']): string {
  return typeof value === 'string' ? '' : ` (${value.join(', ')})`;
}

/** Help's own layout is kept where it is a list; running text is left to the reader's window. */
function paragraph(text: string): string {
  return /\n {2}/.test(text) ? `\`\`\`text\n${text}\n\`\`\`` : text.replaceAll('\n', ' ');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** As GitHub makes it of a heading. */
function anchorOf(path: string): string {
  return path.replaceAll(' ', '-');
}
