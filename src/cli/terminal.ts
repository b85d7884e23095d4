import { Command } from 'commander';
import picocolors from 'picocolors';

export type Colours = ReturnType<typeof picocolors.createColors>;

/** Commander's rule for colours, so that the whole program uses one: NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, the terminal. */
const outputs = new Command().configureOutput();

/** Colours for one stream: none for a pipe or a file, unless FORCE_COLOR is set. */
export function coloursFor(stream: 'stdout' | 'stderr'): Colours {
  const asked = stream === 'stdout' ? outputs.getOutHasColors : outputs.getErrHasColors;
  return coloursWhen(asked?.() === true);
}

export const coloursWhen = (shown: boolean): Colours => picocolors.createColors(shown);

/** Prints a line for each of several things that failed, after the others are done, and makes the command fail. */
export function complain(details: readonly string[]): void {
  const { red } = coloursFor('stderr');
  for (const detail of details) console.error(`${red('error:')} ${printable(detail)}`);
  if (details.length > 0) process.exitCode = 1;
}

/** Prints a line for each of several things that are to be known, and are no failure. */
export function warn(details: readonly string[]): void {
  const { yellow } = coloursFor('stderr');
  for (const detail of details) console.error(`${yellow('warning:')} ${printable(detail)}`);
}

/** `1 face`, `2 faces`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Text such as a file's name, without control characters, which could control the terminal. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\ufffd');

/** A line for each row, with each column as wide as needed. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}

/** Lines of a table, indented; none without rows. */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  return aligned([head, ...rows].map((row) => row.map(printable))).map((line) => `  ${line}`);
}

/**
 * A bar on standard error for a known number of steps: on a terminal only. `advance` tells that one more is done, `reach` how many
 * are; `stop` removes it.
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
    // A hidden cursor and a terminal that wraps no lines would have to be restored before Ctrl-C ends the process.
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

/** Shows the bar during `work`, which calls `advance` after each step. */
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

/** A spinner for one step of unknown length. Returns a function that removes it: call it in a `finally`. */
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
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\x1b[2K');
  };
}
