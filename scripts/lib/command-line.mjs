import { everyCommand, exitCodeWords, helpOf } from '../../dist/src/cli/help.js';
import { openLab } from '../../dist/src/cli/laboratory.js';
import { buildProgram } from '../../dist/src/cli/program.js';
import { page } from './markdown.mjs';

/** docs/command-line.md, generated from the definitions of the commands. */
export async function commandLineMarkdown() {
  const commands = everyCommand(buildProgram(await openLab())).slice(1);
  return page(
    '# Command line',
    'Run `npx facematch COMMAND` in the project’s folder, or, after `npm link` there, `facematch COMMAND` anywhere. In scripts write ' +
      '`npx --no facematch COMMAND`: elsewhere npx would download [whatever package has that name](deployment.md#from-packages-without-a-compiler). ' +
      'Settings come from the [environment or a file](configuration.md). Every command prints its help with `--help`.',
    '`eval`, `eval-liveness`, `calibrate`, `packs add` and `packs pull` belong to the laboratory. A clone has it; otherwise install the ' +
      'file `facematch-lab-VERSION.tgz` that `npm run package` makes.',
    commands
      // Returns the anchor that GitHub makes from the heading.
      .map(({ path }) => `[${path.replace('facematch ', '')}](#${path.replaceAll(' ', '-')})`)
      .join(' · '),
    `Exit codes: ${exitCodeWords.map(([code, meaning]) => `${code} ${meaning}`).join(', ')}; after a signal, 128 plus its ` +
      'number. Results go to standard output; messages and progress go to standard error. `NO_COLOR=1` removes colours, ' +
      '`FORCE_COLOR=1` keeps them in a pipe.',
    'Options of several commands, not repeated below: `--json` prints the result as JSON. `--mode` is the accuracy mode, `fast` or `balance` ' +
      '(default). `keys` commands take `--file`, the key file (default `./keys.json`, or `FACEMATCH_KEYS_FILE`).',
    ...commands.flatMap(({ path, command }) => section(path, command)),
  );
}

/** Returns the `--help` text, with the notes as text and the examples as code to copy. */
function section(path, command) {
  const { notes, examples } = helpOf(command);
  command.configureOutput({ getOutHelpWidth: () => 110, getOutHasColors: () => false });
  return [
    `${'#'.repeat(path.split(' ').length)} ${path}`,
    `\`\`\`text\n${ownHelp(command)}\n\`\`\``,
    ...(notes === undefined ? [] : notes.split('\n\n').map(paragraph)),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
  ];
}

/** Returns the help without options that several commands share, and without subcommands, which have sections. */
function ownHelp(command) {
  return command
    .helpInformation()
    .replace(/^ +-h, --help .*\n/m, '')
    .replaceAll(/^ +(?:--json|--mode <mode>|--file <path>) .*\n(?: {12,}\S.*\n)*/gm, '')
    .replace(/^Options:\n(?! )/m, '')
    .replace(/^Commands:\n(?: .*\n)*/m, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** Lists keep the layout of the help; viewers wrap other text. */
function paragraph(text) {
  return /\n {2}/.test(text) ? `\`\`\`text\n${text}\n\`\`\`` : text.replaceAll('\n', ' ');
}
