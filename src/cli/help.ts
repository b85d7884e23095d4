import type { Command } from 'commander';

/** The exit codes of every command. After a signal the shell reports 128 + its number, as for any program. */
export const exitCodes = { success: 0, failure: 1, usage: 2 } as const;

/** Help and docs say what they mean in these words. */
export const exitCodeWords: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.success, 'success'],
  [exitCodes.failure, 'failure'],
  [exitCodes.usage, 'wrong usage'],
];

/** The end of a command's help, below its options. Docs and tests use it too. */
interface HelpText {
  /** Paragraphs, as they are printed. */
  notes?: string;
  /** Command lines; text after a # is an explanation. */
  examples: readonly string[];
}

/** On the command itself: the laboratory's commands may have been defined by another copy of this file. */
const key = Symbol.for('facematch.help');

type Told = Command & { [key]?: HelpText };

/** Puts notes and examples below the help of `command`, which is returned. */
export function addHelp(command: Command, text: HelpText): Command {
  (command as Told)[key] = text;
  const { notes, examples } = text;
  const heading = examples.length === 1 ? 'Example:' : 'Examples:';
  const listed = [heading, ...examples.map((line) => `  ${line}`)].join('\n');
  return command.addHelpText('after', `\n${notes === undefined ? '' : `${notes}\n\n`}${listed}`);
}

/** The text that addHelp set; throws an Error when there is none. */
export function helpOf(command: Command): HelpText {
  const text = (command as Told)[key];
  if (text === undefined) throw new Error(`The command ${command.name()} has no examples: give it addHelp()`);
  return text;
}

/** The command and all visible commands below it, in help's order, each with its path, such as "facematch keys create". */
export function everyCommand(command: Command, path = command.name()): { path: string; command: Command }[] {
  const children = subcommands(command);
  return [{ path, command }, ...children.flatMap((child) => everyCommand(child, `${path} ${child.name()}`))];
}

/** The visible subcommands, without `help`. */
export function subcommands(command: Command): Command[] {
  const shown = command.createHelp().visibleCommands(command);
  return command.commands.filter((child) => shown.includes(child));
}
