import { closeSync, openSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { type Reason, refusalReasons } from './metric-table.ts';
import type { Decision, RequestRecord } from './record.ts';

/** Lines in memory while the disk is slow; more are lost, and that is logged. */
const most_bytes = 8 * 1024 * 1024;
/** Requests about anything else decide nothing. */
const routes = ['match', 'match_advanced', 'match_many', 'match_embeddings'];
/** Refusals of anything else, such as a key or its rate, say nothing of the pictures. */
const reasons: readonly Reason[] = ['request', 'picture'];

/**
 * The audit log: one line of JSON for each decision. Never a picture, an embedding, a key, or a name that a client gave to a
 * file or a candidate. A fault of the disk is logged and stops no request.
 */
export class AuditLog {
  readonly #file: ReturnType<typeof pino.destination>;
  readonly #pack: string;

  /** Appends to the file, which is made for its owner alone. Throws an Error with a message for people. */
  constructor(path: string, pack: string, logger: Logger) {
    const mode = 0o600;
    try {
      closeSync(openSync(path, 'a', mode));
    } catch (error) {
      throw new Error(`FACEMATCH_AUDIT_LOG cannot be written to: ${(error as Error).message}`, {
        cause: error,
      });
    }
    this.#pack = pack;
    this.#file = pino.destination({ dest: path, append: true, mode, sync: false, maxLength: most_bytes });
    this.#file.on('error', (error: Error) =>
      logger.error({ fault: error.message }, 'the audit log cannot be written'),
    );
    this.#file.on('drop', () => logger.error('the audit log is too slow: a decision is not in it'));
  }

  write({ request_id, key_id, route, code, decisions }: RequestRecord): void {
    if (!routes.includes(route)) return;
    const told = decisions.length > 0 ? decisions : refusalOf(code);
    if (told.length === 0) return;
    const common = { time: new Date().toISOString(), request_id, key_id, route, pack: this.#pack };
    this.#file.write(told.map((decision) => `${JSON.stringify({ ...common, ...decision })}\n`).join(''));
  }

  /** Goes on in a new file of that name: the old one has been moved away. */
  reopen(): void {
    this.#file.reopen();
  }

  /** What is still in memory is written before the process ends. */
  close(): void {
    this.#file.end();
  }
}

function refusalOf(code: string | undefined): Decision[] {
  const reason = refusalReasons[code as keyof typeof refusalReasons];
  return reasons.includes(reason) ? [{ refused: code! }] : [];
}
