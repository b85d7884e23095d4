import type { WriteStream } from 'node:tty';
import picocolors from 'picocolors';

export type Colours = ReturnType<typeof picocolors.createColors>;

/**
 * Colours for one stream: real ones only on a terminal that shows them, so that a pipe or a file gets plain text.
 * `hasColors` heeds NO_COLOR, FORCE_COLOR and TERM=dumb.
 */
export function coloursFor(stream: Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>): Colours {
  return picocolors.createColors(stream.isTTY === true && stream.hasColors?.() === true);
}

/** Text of others, such as a file's name, without the control characters that would steer the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\ufffd');
}

export interface ProgressBar {
  /** One more is done, or `count` more. */
  advance(count?: number): void;
  /** Clears the bar, whether all is done or not. Call it in a `finally`: until then the cursor is hidden. */
  stop(): void;
}

/** A bar on standard error, gone when it stops; nothing at all when standard error is no terminal. */
export async function progressBar(title: string, total: number): Promise<ProgressBar> {
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    format: `${title} {bar} {value}/{total} · {eta_formatted} left`,
    stream: process.stderr,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(total, 0);
  return { advance: (count = 1) => bar.increment(count), stop: () => bar.stop() };
}
