import { randomFillSync } from 'node:crypto';
import type { Warning } from '../endpoints/warnings.ts';

/**
 * How the end of the body is determined (RFC 9112, section 6.3). `unclear`: two parsers could disagree about the
 * end, or µWS stops reading. The connection then closes after the response.
 */
type Framing = 'none' | 'length' | 'chunked' | 'unclear';

/** A copy of the request line and headers, because µWS's own are valid only inside its callback. */
export interface Request {
  readonly method: string;
  /** Path as sent, not decoded, without the query. */
  readonly path: string;
  /** Query as sent, without the question mark; empty if absent. */
  readonly query: string;
  /** Values by lower-case name. The values of a repeated header are joined by commas (RFC 9110, section 5.3). */
  readonly headers: ReadonlyMap<string, string>;
  /** True if there is more than one Content-Type header. */
  readonly has_duplicate_type: boolean;
  readonly framing: Framing;
  /** Content-Length, or undefined unless `framing` is 'length'. */
  readonly content_length: number | undefined;
  /** True if the client sent `Connection: close`. */
  readonly closes: boolean;
  /** The socket's remote address as text. */
  readonly peer: string;
}

export class HeaderFields {
  readonly headers = new Map<string, string>();
  has_duplicate_type = false;

  /** `name`: in lower case. */
  add(name: string, value: string): void {
    const before = this.headers.get(name);
    this.headers.set(name, before === undefined ? value : `${before},${value}`);
    if (before !== undefined && name === 'content-type') this.has_duplicate_type = true;
  }
}

/** `target`: path and query as sent. */
export function requestOf(
  method: string,
  target: string,
  { headers, has_duplicate_type }: HeaderFields,
  framing: Framing,
  peer: string,
): Request {
  const query = target.indexOf('?');
  return {
    method,
    path: query < 0 ? target : target.slice(0, query),
    query: query < 0 ? '' : target.slice(query + 1),
    headers,
    has_duplicate_type,
    framing,
    content_length: framing === 'length' ? Number(headers.get('content-length')) : undefined,
    closes: /(?:^|,)\s*close\s*(?:,|$)/i.test(headers.get('connection') ?? ''),
    peer,
  };
}

/**
 * Returns the framing of a request. µWS uses the first Content-Length, treats any Transfer-Encoding as chunked, and
 * reads at most nine digits. The framing is `unclear` where another parser could differ.
 */
export function framingOf(headers: ReadonlyMap<string, string>): Framing {
  const length = headers.get('content-length');
  const encoding = headers.get('transfer-encoding');
  if (encoding !== undefined) {
    return encoding.toLowerCase() === 'chunked' && length === undefined ? 'chunked' : 'unclear';
  }
  if (length === undefined) return 'none';
  if (!/^\d{1,9}$/.test(length)) return 'unclear';
  return Number(length) === 0 ? 'none' : 'length';
}

/** Digits of Crockford's base 32. */
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const time_digits = 10;
const random_digits = 16;

/** Random bytes for many ids. A system call for each id would take longer than the rest of `newRequestId`. */
const random = new Uint8Array(256 * random_digits);
let randomAt = random.length;

/** Returns a ULID: 48 bits of time, so that ids sort by time, and 80 random bits, so that they cannot be guessed. */
function newRequestId(now_ms = Date.now()): string {
  let id = '';
  for (let place = time_digits - 1; place >= 0; place--) id += digits[Math.floor(now_ms / 32 ** place) % 32];
  if (randomAt === random.length) {
    randomFillSync(random);
    randomAt = 0;
  }
  const end = randomAt + random_digits;
  while (randomAt < end) id += digits[random[randomAt++]! % 32];
  return id;
}

/** Returns the client's own X-Request-Id if it is safe in a header and a log line, otherwise a new id. */
export function requestId(sent: string | undefined): string {
  return sent !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : newRequestId();
}

/**
 * Parses a `traceparent` (W3C Trace Context, section 3.2). Uses only the fields of version 00, in later versions
 * too (section 4.3).
 */
export function traceOf(header: string | undefined) {
  const fields = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header ?? '');
  if (fields === null) return undefined;
  const [, version, trace_id, parent_id, flags, rest] = fields as unknown as [string, ...string[]];
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(trace_id!) || /^0+$/.test(parent_id!)) return undefined;
  return { trace_id: trace_id!, traceparent: `00-${trace_id}-${parent_id}-${flags}` };
}

/** Normalises a name of any style, such as thresholdPercent or Threshold-Percent. */
const unstyled = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '');

/** Returns a warning for each request field in the query, in any naming style, because such fields are ignored. */
export function ignoredQuery(query: string, known: readonly string[]): Warning[] {
  if (query === '') return [];
  const sent = new Set(Array.from(new URLSearchParams(query).keys(), unstyled));
  return known
    .filter((field) => sent.has(unstyled(field)))
    .map((field) => ({
      code: 'query_parameter_ignored',
      field,
      detail: `${field} was sent as a query parameter and ignored. Send it in the body, like the images.`,
    }));
}
