// One line a step. On a terminal the running step shows its time and the last line of its output.
const onTerminal = process.stderr.isTTY === true && !process.env.CI;
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Shows `title` while `act(onLine)` runs, and how long it took when it is done. */
export async function withProgress(title, act) {
  const start = performance.now();
  let last = '';
  let frame = 0;
  const draw = () => {
    const width = (process.stderr.columns ?? 80) - title.length - 16;
    const hint = width > 10 ? last.slice(0, width) : '';
    frame = (frame + 1) % frames.length;
    process.stderr.write(`\r\x1b[2K${frames[frame]} ${title}  ${seconds(start)}  \x1b[2m${hint}\x1b[0m`);
  };
  const tell = () => process.stderr.write(`  ${title} … ${seconds(start)}\n`);
  const timer = onTerminal ? setInterval(draw, 100) : setInterval(tell, 20_000);
  timer.unref();
  try {
    const result = await act((line) => {
      last = line;
    });
    return result;
  } finally {
    clearInterval(timer);
    if (onTerminal) process.stderr.write('\r\x1b[2K');
  }
}

export { seconds };
