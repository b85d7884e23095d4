import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config.ts';

/**
 * JSON lines on standard error. Writes are handed to a thread of libuv's, so that a slow terminal or pipe never stops
 * the thread that talks to clients.
 */
export interface Log {
  readonly logger: Logger;
  /**
   * Does `work` (counting and logging a request) a little later, together with that of other requests. Under overload
   * refusals come one by one between the slices of time of busy workers: what each does at once, it does with cold
   * caches, and that costs several times as much.
   */
  later(work: () => void): void;
  /** Does what was put off, now. */
  settle(): void;
  /** For the end of the process: settles, and writes what is not written yet. */
  flush(): void;
}

const gather_ms = 50;

export function openLog(level: LogLevel): Log {
  // Not pino's own periodicFlush: its timer would wake an idle process twenty times a second.
  const destination = pino.destination({ dest: 2, sync: false, minLength: 4096 }) as DestinationStream & {
    flush(): void;
    flushSync(): void;
  };
  let putOff: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const settle = () => {
    const works = putOff;
    putOff = [];
    for (const work of works) work();
  };
  const gather = () => {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      settle();
      destination.flush();
      timer = undefined;
    }, gather_ms).unref();
  };
  const gathering: DestinationStream = {
    write(line) {
      destination.write(line);
      gather();
    },
  };
  return {
    logger: pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, gathering),
    later(work) {
      putOff.push(work);
      gather();
    },
    settle,
    flush() {
      settle();
      try {
        destination.flushSync();
      } catch {
        // Nobody reads standard error any more, and there is nowhere else to say so.
      }
    },
  };
}
