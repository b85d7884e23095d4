import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config.ts';

/**
 * JSON lines on standard error. Writes are handed to a thread of libuv's, so that a slow terminal or pipe never stops
 * the thread that talks to clients; `flush` is for the end of the process.
 */
export interface Log {
  readonly logger: Logger;
  flush(): void;
}

export function openLog(level: LogLevel): Log {
  const destination = pino.destination({
    dest: 2,
    sync: false,
    // A write for each line would cost more than the refusal that it tells of, just when many must be refused.
    minLength: 4096,
    periodicFlush: 50,
  }) as DestinationStream & { flushSync(): void };
  return {
    logger: pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, destination),
    flush: () => {
      try {
        destination.flushSync();
      } catch {
        // Nobody reads standard error any more, and there is nowhere else to say so.
      }
    },
  };
}
