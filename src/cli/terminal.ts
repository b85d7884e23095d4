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

/** A bar on standard error: on a terminal only, and removed when the work is over. */
interface ProgressBar {
  /** One more is done, or `count` more. */
  advance(count?: number): void;
  /** Clears the bar, whether all is done or not. */
  stop(): void;
}

/** For so many steps of the same kind. */
export async function progressBar(title: string, total: number): Promise<ProgressBar> {
  if (!process.stderr.isTTY) return { advance: () => {}, stop: () => {} };
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    format: `${title} {bar} {value}/{total} · {eta_formatted} left`,
    stream: process.stderr,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    // A hidden cursor would have to be shown again before Ctrl-C ends the process, which then could not end at once.
    hideCursor: false,
    clearOnComplete: true,
  });
  bar.start(total, 0);
  return { advance: (count = 1) => bar.increment(count), stop: () => bar.stop() };
}

/** Shows the bar while the work goes on, which calls `advance` for each step done. */
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

/** For one step that nobody knows the length of. Call what it returns in a `finally`. */
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
