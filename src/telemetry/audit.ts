import type { Logger } from 'pino';
import type { Decision } from '../endpoints/endpoint.ts';
import { endpoints } from '../endpoints/index.ts';
import { type ErrorGroup, groupOf, isErrorCode } from '../errors.ts';
import { LineWriter } from './line-writer.ts';
import type { RequestRecord } from './metrics.ts';

/** Ids of the endpoints that make decisions or return biometric templates. */
const routes: readonly string[] = endpoints.filter(({ audited }) => audited).map(({ id }) => id);
/** Groups of rejections that count as decisions, because they depend on the content of the request. */
const groups: readonly ErrorGroup[] = ['request', 'image'];

/** Name and version of the model pack, in every line. */
type Pack = Readonly<Record<'pack' | 'pack_version', string>>;

/**
 * Writes one line of JSON for each decision, and for each image whose embeddings were returned. Lines contain no
 * images, embeddings or keys, and no names from clients. A disk error is logged, and does not affect requests.
 */
export class AuditLog {
  readonly lines: LineWriter;
  readonly #pack: Pack;
  readonly #logger: Logger;

  /** Opens the file. Only the owner can read a new file. Throws an Error whose message is meant for the user. */
  constructor(path: string, pack: Pack, logger: Logger) {
    this.#pack = pack;
    this.#logger = logger;
    try {
      this.lines = new LineWriter({
        dest: path,
        mode: 0o600,
        onError: ({ message }) => logger.error({ error: message }, 'failed to write the audit log'),
        onDropped: (dropped) =>
          logger.error({ dropped }, 'audit log lines were dropped: the disk was full or too slow'),
      });
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      const why = code === 'ENXIO' ? 'no program reads the named pipe or socket' : message;
      throw new Error(`FACEMATCH_AUDIT_LOG cannot be written to: ${why}`, { cause });
    }
  }

  write({ request_id, key_id, route, code, tally: { decisions } }: RequestRecord): void {
    if (!routes.includes(route)) return;
    const lines = decisions.length > 0 ? decisions : rejectionOf(code);
    if (lines.length === 0) return;
    const common = { time: new Date().toISOString(), request_id, key_id, route, ...this.#pack };
    this.lines.write(lines.map((decision) => `${JSON.stringify({ ...common, ...decision })}\n`).join(''));
  }

  /** Writes the pending lines, for at most one second, and logs the number of lost lines. */
  async close(): Promise<void> {
    await this.lines.flush();
    const lost = this.lines.end();
    if (lost > 0) this.#logger.error({ lost }, 'audit log lines were lost: they could not be written');
  }
}

function rejectionOf(code: string | undefined): Decision[] {
  const isDecision = isErrorCode(code) && groups.includes(groupOf(code));
  return isDecision ? [{ code }] : [];
}
