import { everyCommand, exitCodeTexts, helpOf } from '../../dist/src/cli/help.js';
import { openLab } from '../../dist/src/cli/laboratory.js';
import { buildProgram } from '../../dist/src/cli/program.js';
import { page } from './markdown.mjs';

/** Resolves to docs/command-line.md, generated from the definitions of the commands. */
export async function commandLineMarkdown() {
  const commands = everyCommand(buildProgram(await openLab())).slice(1);
  return page(
    '# Command line',
    'Run `npx facematch COMMAND` in the project’s folder, or `npx --no facematch COMMAND` [in scripts](deployment.md#from-packages-without-a-compiler). ' +
      'After `npm link` there, run `facematch COMMAND` in any folder. `--help` prints the help of a command.',
    '`eval`, `eval-liveness`, `calibrate`, `packs add` and `packs pull` need the laboratory: a clone, or `facematch-lab-VERSION.tgz` from ' +
      '`npm run package`.',
    `Exit codes: ${exitCodeTexts.map(([code, meaning]) => `${code} ${meaning}`).join(', ')}; after a signal, 128 plus its ` +
      'number. Results go to standard output, messages and progress to standard error. `NO_COLOR=1` removes colours, and ' +
      '`FORCE_COLOR=1` keeps them in a pipe.',
    `Options of several commands, not repeated below:\n\n${shared.map((line) => `- ${line}`).join('\n')}`,
    ...commands.flatMap(({ path, command }) => section(path, command)),
  );
}

const shared = [
  '`--json`: print the result as JSON',
  '`--mode <mode>`: accuracy mode, `fast` or `balance` (default)',
  '`--file <path>` of `keys`: the key file (default `./keys.json`, or `FACEMATCH_KEYS_FILE`)',
  '`--no-fallback` of `detect` and `embed`: skip the extra detection passes (faster; finds fewer small and rotated faces)',
  '`--min-det-score <score>` of `detect` and `embed`: minimum detection score; the default depends on the pack',
  '`--groups <columns>` of `eval` and `calibrate`: columns of people.tsv to group by; `*` crosses columns, such as `origin*sex,age` (default: each column)',
  '`--same-person-above <cosine>` of `eval` and `calibrate`: omit non-mated pairs with a cosine above this, for uncertain labels',
];
const sharedOptions = shared.map((line) => /^`(--[^`]+)`/.exec(line)[1]).join('|');

/** Returns the section of a command: its description, options and notes, and its examples as a code block. */
function section(path, command) {
  const { notes, examples } = helpOf(command);
  command.configureOutput({ getOutHelpWidth: () => 110, getOutHasColors: () => false });
  const help = ownHelp(command);
  return [
    `${'#'.repeat(path.split(' ').length)} ${path}`,
    sentence(command.description()),
    ...(help === '' ? [] : [`\`\`\`text\n${help}\n\`\`\``]),
    // Lists of settings are on their own page.
    ...(notes?.split('\n\n').filter((text) => !/\n {2}/.test(text)) ?? []).map((text) =>
      text.replaceAll('\n', ' '),
    ),
    // A command group has no examples of its own.
    ...(command.commands.length > 0 ? [] : [`\`\`\`sh\n${examples.join('\n')}\n\`\`\``]),
  ];
}

/**
 * Returns the help text without the description, the shared options and the subcommands, which other parts of the
 * page show. Also removes a usage line that only repeats the heading.
 */
function ownHelp(command) {
  // commander may have wrapped the description, so words are separated by any white space.
  const words = command
    .description()
    .split(' ')
    .map((word) => word.replaceAll(/\W/g, '\\$&'));
  return command
    .helpInformation()
    .replace(new RegExp(`^${words.join('\\s+')}\n+`, 'm'), '')
    .replace(/^Usage: facematch [\w -]+ \[options\](?: \[command\])?\n+/, '')
    .replace(/^ +-h, --help .*\n/m, '')
    .replaceAll(new RegExp(`^ +(?:${sharedOptions}) .*\\n(?: {12,}\\S.*\\n)*`, 'gm'), '')
    .replace(/^Options:\n(?! )/m, '')
    .replace(/^Commands:\n(?: .*\n)*/m, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
