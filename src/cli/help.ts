import type { Command } from 'commander';

/** Exit codes of every command. */
export const exitCodes = { success: 0, failure: 1, usage: 2 } as const;

/** Meanings of the exit codes, for help and docs. */
export const exitCodeTexts: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.success, 'success'],
  [exitCodes.failure, 'failure'],
  [exitCodes.usage, 'wrong usage'],
];

/** Text below the options in a command's help. Docs and tests use it too. */
interface HelpText {
  /** Paragraphs, printed unchanged. */
  notes?: string;
  /** Command lines; text after a # explains them. */
  examples: readonly string[];
}

/** A global symbol, because the laboratory package may load another copy of this module. */
const key = Symbol.for('facematch.help');

type WithHelp = Command & { [key]?: HelpText };

/** Adds notes and examples to the help of `command` and returns it. */
export function addHelp(command: Command, text: HelpText): Command {
  (command as WithHelp)[key] = text;
  const { notes, examples } = text;
  const heading = examples.length === 1 ? 'Example:' : 'Examples:';
  const listed = [heading, ...examples.map((line) => `  ${line}`)].join('\n');
  return command.addHelpText('after', `\n${notes === undefined ? '' : `${notes}\n\n`}${listed}`);
}

/** Returns the text that addHelp set. Throws an Error if there is none. */
export function helpOf(command: Command): HelpText {
  const text = (command as WithHelp)[key];
  if (text === undefined) throw new Error(`The command ${command.name()} has no examples: call addHelp()`);
  return text;
}

/** Returns the command and all its visible subcommands, each with its path, such as "facematch keys create". */
export function everyCommand(command: Command, path = command.name()): { path: string; command: Command }[] {
  const children = subcommands(command);
  return [{ path, command }, ...children.flatMap((child) => everyCommand(child, `${path} ${child.name()}`))];
}

/** Returns the visible subcommands, without `help`. */
export function subcommands(command: Command): Command[] {
  const shown = command.createHelp().visibleCommands(command);
  return command.commands.filter((child) => shown.includes(child));
}

/** Returns the command line to type in a clone or a package folder, where npx starts the program. */
export const commandLine = (command: string): string => `npx --no facematch ${command}`;
