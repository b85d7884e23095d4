import type { Command } from 'commander';

/** What every command ends with. A command that a signal ended has 128 + its number from the shell, as any program. */
export const exitCodes = { success: 0, failure: 1, usage: 2 } as const;

/** In words, for help and docs. */
export const exitCodeWords: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.success, 'success'],
  [exitCodes.failure, 'failure'],
  [exitCodes.usage, 'wrong usage'],
];

/** What a command's help says below its options. Kept beside the command, because docs and tests ask for it as well. */
interface HelpText {
  /** Paragraphs, as they are printed. */
  notes?: string;
  /** Lines to type; what follows a # explains. */
  examples: readonly string[];
}

const texts = new WeakMap<Command, HelpText>();

/** Puts notes and examples below the help of `command`, which is returned. */
export function addHelp(command: Command, text: HelpText): Command {
  texts.set(command, text);
  const { notes, examples } = text;
  const heading = examples.length === 1 ? 'Example:' : 'Examples:';
  const listed = [heading, ...examples.map((line) => `  ${line}`)].join('\n');
  return command.addHelpText('after', `\n${notes === undefined ? '' : `${notes}\n\n`}${listed}`);
}

/** Throws an Error for a command without one. */
export function helpOf(command: Command): HelpText {
  const text = texts.get(command);
  if (text === undefined) throw new Error(`The command ${command.name()} has no examples: give it addHelp()`);
  return text;
}

/** The command and all below it that help shows, in its order, each with what is typed, such as "facematch keys create". */
export function everyCommand(command: Command, path = command.name()): { path: string; command: Command }[] {
  const children = subcommands(command);
  return [{ path, command }, ...children.flatMap((child) => everyCommand(child, `${path} ${child.name()}`))];
}

/** Those that help shows, without the word `help` itself. */
export function subcommands(command: Command): Command[] {
  const shown = command.createHelp().visibleCommands(command);
  return command.commands.filter((child) => shown.includes(child));
}
