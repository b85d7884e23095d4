import { everyCommand, exitCodeTexts, helpOf } from '../../dist/src/cli/help.js';
import { openLab } from '../../dist/src/cli/laboratory.js';
import { buildProgram } from '../../dist/src/cli/program.js';
import { page } from './markdown.mjs';

/** docs/command-line.md, generated from the definitions of the commands. */
export async function commandLineMarkdown() {
  const commands = everyCommand(buildProgram(await openLab())).slice(1);
  return page(
    '# Command line',
    'Run `npx facematch COMMAND` in the project’s folder, or, after `npm link` there, `facematch COMMAND` anywhere. In scripts write ' +
      '`npx --no facematch COMMAND`: in any other folder npx would download [whatever package has that name](deployment.md#from-packages-without-a-compiler). ' +
      '[Settings](configuration.md). `--help` prints the help of a command.',
    '`eval`, `eval-liveness`, `calibrate`, `packs add` and `packs pull` need the laboratory: a clone, or `facematch-lab-VERSION.tgz` of ' +
      '`npm run package`.',
    `Exit codes: ${exitCodeTexts.map(([code, meaning]) => `${code} ${meaning}`).join(', ')}; after a signal, 128 plus its ` +
      'number. Results go to standard output; messages and progress go to standard error. `NO_COLOR=1` removes colours, ' +
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
  '`--min-det-score <score>` of the same: minimum detection score; the default depends on the pack',
  '`--groups <columns>` of `eval` and `calibrate`: columns of people.tsv that make groups, crossed with `*`, such as `origin*sex,age` (default: each by itself)',
  '`--same-person-above <cosine>` of the same, for uncertain labels: leave out pairs of two people with a cosine above this',
];
const sharedOptions = shared.map((line) => /^`(--[^`]+)`/.exec(line)[1]).join('|');

/** Returns the `--help` text, with description and notes as text and the examples as code to copy. */
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
    // The examples of a group are those of its commands.
    ...(command.commands.length > 0 ? [] : [`\`\`\`sh\n${examples.join('\n')}\n\`\`\``]),
  ];
}

/**
 * Returns the help without its description, without options that several commands share, without subcommands,
 * which have sections, and without a usage line that only repeats the heading.
 */
function ownHelp(command) {
  // The description may be wrapped.
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
