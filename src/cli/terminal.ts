import { Command } from 'commander';
import picocolors from 'picocolors';

export type Colours = ReturnType<typeof picocolors.createColors>;

/** Applies the colour rules of commander: NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, and whether there is a terminal. */
const outputs = new Command().configureOutput();

/** Returns the colours for one stream: by default none for a pipe or a file. */
export function coloursFor(stream: 'stdout' | 'stderr'): Colours {
  const asked = stream === 'stdout' ? outputs.getOutHasColors : outputs.getErrHasColors;
  return coloursWhen(asked?.() === true);
}

export const coloursWhen = (shown: boolean): Colours => picocolors.createColors(shown);

/** Prints one error line for each detail and sets the exit code to 1. */
export function complain(details: readonly string[]): void {
  const { red } = coloursFor('stderr');
  for (const detail of details) console.error(`${red('error:')} ${printable(detail)}`);
  if (details.length > 0) process.exitCode = 1;
}

/** Prints one warning line for each detail. */
export function warn(details: readonly string[]): void {
  const { yellow } = coloursFor('stderr');
  for (const detail of details) console.error(`${yellow('warning:')} ${printable(detail)}`);
}

/** Returns a number with its noun, such as `1 face` or `2 faces`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Replaces control characters in a string such as a file name, because they could control the terminal. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\ufffd');

/** Formats rows as lines with aligned columns. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}

/** Formats a table as indented lines. Returns no lines if there are no rows. */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  return aligned([head, ...rows].map((row) => row.map(printable))).map((line) => `  ${line}`);
}

/**
 * Shows a progress bar on standard error, on a terminal only. `advance` adds one step, `reach` sets the number
 * of completed steps, `stop` removes the bar.
 */
export async function progressBar(title: string, total: number) {
  if (!process.stderr.isTTY) return { advance: () => {}, reach: (_count: number) => {}, stop: () => {} };
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    format: `${title} {bar} {value}/{total} · {eta_formatted} left`,
    stream: process.stderr,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    // With other values, Ctrl-C would leave the terminal with a hidden cursor and without line wrapping.
    hideCursor: false,
    linewrap: true,
    clearOnComplete: true,
  });
  bar.start(total, 0);
  return {
    advance: () => bar.increment(),
    reach: (count: number) => bar.update(count),
    stop: () => bar.stop(),
  };
}

/** Shows a progress bar during `work`, which calls `advance` after each step. */
export async function withBar<T>(
  title: string,
  total: number,
  work: (advance: () => void) => Promise<T>,
): Promise<T> {
  const bar = await progressBar(title, total);
  try {
    return await work(() => bar.advance());
  } finally {
    bar.stop();
  }
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** Shows a spinner for a step of unknown duration. Returns a function that removes it; call it in a `finally`. */
export function activity(title: string): () => void {
  if (!process.stderr.isTTY) return () => {};
  const start_ms = performance.now();
  let frame = 0;
  const draw = () => {
    const seconds = ((performance.now() - start_ms) / 1000).toFixed(1);
    process.stderr.write(`\r\x1b[2K${frames[frame++ % frames.length]} ${title}  ${seconds} s`);
  };
  draw();
  const timer = setInterval(draw, 100).unref();
  let isShown = true;
  return () => {
    clearInterval(timer);
    // A second call would clear a line that other code has written.
    if (isShown) process.stderr.write('\r\x1b[2K');
    isShown = false;
  };
}
