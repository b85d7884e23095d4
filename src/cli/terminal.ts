import { Command } from 'commander';
import picocolors from 'picocolors';

export type Colours = ReturnType<typeof picocolors.createColors>;

/** Commander's own rule, so that all of the program follows one: NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, a terminal with colours. */
const outputs = new Command().configureOutput();

/** Colours for one stream: plain text for a pipe or a file, unless FORCE_COLOR asks for more. */
export function coloursFor(stream: 'stdout' | 'stderr'): Colours {
  const asked = stream === 'stdout' ? outputs.getOutHasColors : outputs.getErrHasColors;
  return coloursWhen(asked?.() === true);
}

export function coloursWhen(shown: boolean): Colours {
  return picocolors.createColors(shown);
}

/** What went wrong with some of several things, a line each, once the others are done: the command has failed then. */
export function complain(details: readonly string[]): void {
  const { red } = coloursFor('stderr');
  for (const detail of details) console.error(`${red('error:')} ${printable(detail)}`);
  if (details.length > 0) process.exitCode = 1;
}

/** Text of others, such as a file's name, without the control characters that would steer the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\ufffd');
}
