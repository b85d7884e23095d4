import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogLevel } from '../config.ts';

/**
 * JSON lines on standard error. Writes are handed to a thread of libuv's, so that a slow terminal or pipe never stops
 * the thread that talks to clients.
 */
export interface Log {
  readonly logger: Logger;
  /** Writes a line that is made already, its end of line included. */
  write(line: string): void;
  /**
   * Does `work` (counting and logging a request) a little later, together with that of other requests. Under overload
   * refusals come one by one between the slices of time of busy workers: what each does at once, it does with cold
   * caches, and that costs several times as much.
   */
  later(work: () => void): void;
  /** Does what was put off, now. */
  settle(): void;
  /**
   * For the end of the process: settles, and writes what is not written yet. Resolves to false when that is not taken
   * within a second, by a reader of standard error that has stopped reading.
   */
  flush(): Promise<boolean>;
}

const gather_ms = 50;
const flush_ms = 1000;
/** Characters that are worth a write before the flush at the end of `gather_ms`, and most of one write. */
const minLength = 32 * 1024;
const maxWrite = 128 * 1024;
/** What has gathered is done in turns of so much: warm enough, and no client waits for it as long as a millisecond. */
const gather_count = 64;

export function openLog(level: LogLevel): Log {
  // Not pino's own periodicFlush: its timer would wake an idle process twenty times a second.
  const destination = pino.destination({ dest: 2, sync: false, minLength, maxWrite }) as DestinationStream & {
    flush(done?: () => void): void;
    on(event: 'error', listener: () => void): void;
  };
  // Nobody reads standard error any more, and there is nowhere else to say so.
  let broken = false;
  destination.on('error', () => {
    broken = true;
  });
  let putOff: (() => void)[] = [];
  // pino's destination measures all that waits in it at every write; so it gets many lines at once.
  let lines = '';
  let timer: NodeJS.Timeout | undefined;
  const settle = () => {
    const works = putOff;
    putOff = [];
    for (const work of works) work();
    if (lines !== '') destination.write(lines);
    lines = '';
  };
  const gather = () => {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      settle();
      destination.flush();
      timer = undefined;
    }, gather_ms).unref();
  };
  const write = (line: string) => {
    lines += line;
    gather();
  };
  return {
    logger: pino({ level, base: null, timestamp: isoTime }, { write }),
    write,
    later(work) {
      // Not here: the answer that this belongs to is sent when µWS's callback returns.
      if (putOff.push(work) === gather_count) setImmediate(settle);
      gather();
    },
    settle,
    flush() {
      settle();
      if (broken) return Promise.resolve(true);
      return new Promise((resolve) => {
        const late = setTimeout(() => resolve(broken), flush_ms);
        destination.flush(() => {
          clearTimeout(late);
          resolve(true);
        });
      });
    },
  };
}

/** Of the latest millisecond: lines are made many at a time. */
let latest = { now_ms: 0, text: '' };

/** As pino's own isoTime. */
export function isoTime(): string {
  const now_ms = Date.now();
  if (now_ms !== latest.now_ms) latest = { now_ms, text: `,"time":"${new Date(now_ms).toISOString()}"` };
  return latest.text;
}
