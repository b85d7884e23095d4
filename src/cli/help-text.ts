import type { Command } from 'commander';

/** What a command's help says below its options. Kept beside the command, because docs and tests ask for it as well. */
export interface HelpText {
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
