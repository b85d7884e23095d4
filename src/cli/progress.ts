/** What shows on standard error that something goes on: on a terminal alone, and gone when it is over. */

export interface ProgressBar {
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
