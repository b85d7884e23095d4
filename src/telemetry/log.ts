import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config.ts';

/**
 * JSON lines on standard error. Writes are handed to a thread of libuv's, so that a slow terminal or pipe never stops
 * the thread that talks to clients.
 */
export interface Log {
  readonly logger: Logger;
  /**
   * For the end of the process: waits until everything is written. Resolves to false when that takes longer than a
   * second, because the reader of standard error has stopped reading.
   */
  flush(): Promise<boolean>;
}

const flush_ms = 1000;

export function openLog(level: LogLevel): Log {
  // With a minLength of 0 the destination's flush() would not wait for the write in progress.
  const destination = pino.destination({ dest: 2, sync: false, minLength: 1 }) as DestinationStream & {
    flush(done?: () => void): void;
    on(event: 'error', listener: () => void): void;
  };
  // Nobody reads standard error any more, and there is nowhere else to say so.
  let broken = false;
  destination.on('error', () => {
    broken = true;
  });
  return {
    logger: pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, destination),
    flush() {
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
