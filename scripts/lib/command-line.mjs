import { everyCommand, exitCodeWords, helpOf } from '../../dist/src/cli/help.js';
import { openLab } from '../../dist/src/cli/laboratory.js';
import { buildProgram } from '../../dist/src/cli/program.js';
import { page, table } from './markdown.mjs';

/** docs/command-line.md, generated from the definitions of the commands. */
export async function commandLineMarkdown() {
  const commands = everyCommand(buildProgram(await openLab())).slice(1);
  return page(
    '# Command line',
    'In the project’s folder: `npx facematch COMMAND`. After `npm link`, run there once, `facematch COMMAND` anywhere; the ' +
      'examples are written so. Settings come from the [environment or a file](configuration.md). `eval`, `calibrate`, `packs add` ' +
      'and `packs pull` come with the laboratory, which a server does without. A clone has it; beside facematch’s packages, install the file ' +
      '`facematch-lab-VERSION.tgz` that `npm run package` makes. In scripts write `npx --no facematch COMMAND`: outside the project’s ' +
      'folder npx would otherwise download a package of that name, which is [not ours until it is published](releasing.md).',
    table(
      ['command', 'does'],
      commands.map(({ path, command }) => [
        // The anchor that GitHub makes from the heading.
        `[\`${path}\`](#${path.replaceAll(' ', '-')})`,
        command.description(),
      ]),
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
    ...commands.flatMap(({ path, command }) => section(path, command)),
  );
}

/** What `--help` prints, with the notes as text and the examples as what a reader copies. */
function section(path, command) {
  const { notes, examples } = helpOf(command);
  command.configureOutput({ getOutHelpWidth: () => 110, getOutHasColors: () => false });
  return [
    `${'#'.repeat(path.split(' ').length)} ${path}`,
    `\`\`\`text\n${command.helpInformation().trim()}\n\`\`\``,
    ...(notes === undefined ? [] : notes.split('\n\n').map(paragraph)),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
  ];
}

/** Lists keep the layout of the help; other text is wrapped by the reader. */
function paragraph(text) {
  return /\n {2}/.test(text) ? `\`\`\`text\n${text}\n\`\`\`` : text.replaceAll('\n', ' ');
}
