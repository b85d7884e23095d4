import type { Part } from '../../endpoints/form.ts';
import { type Steps, step_cost } from '../../engine/turns.ts';
import { invalidForm, parseParameters, parsePartHeaders, tokenEnd, trimSpace } from './multipart-headers.ts';

/**
 * Parses multipart/form-data (RFC 7578) without copying. Rejects input that two parsers could read as
 * different forms.
 */

interface MultipartLimits {
  parts: number;
  /** Maximum size in bytes of the header lines of one part, including line ends, without the empty line. */
  header_bytes: number;
}

/** RFC 2046 §5.1.1: length and characters of a boundary. */
const MAX_BOUNDARY_LENGTH = 70;
const bchars = /^[0-9A-Za-z'()+_,./:=? -]*$/;

/**
 * Maximum number of lines that begin like a delimiter but are not one. Each costs time, and images practically
 * never have any.
 */
const MAX_LOOKALIKES = 1000;
/**
 * Maximum number of spaces after a boundary (RFC 2046 §5.1.1, transport-padding). Each costs time, and no known
 * client sends any.
 */
const MAX_PADDING = 1000;
/**
 * Minimum length of a needle that Node searches in far fewer steps than there are bytes, whatever the body.
 */
const FAST_NEEDLE = 8;

/** Number of bytes that one step searches, at least twice as fast as reading single bytes. */
const searched_bytes = 2 * step_cost;

const HTAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SP = 0x20;
const DASH = 0x2d;

/**
 * Returns the boundary of a Content-Type; undefined if the media type is not multipart/form-data. Throws Problem if
 * the boundary is missing or malformed.
 */
export function boundaryOf(contentType: string): string | undefined {
  const header = trimSpace(contentType);
  const slash = tokenEnd(header, 0);
  const typeEnd = header[slash] === '/' ? tokenEnd(header, slash + 1) : slash;
  // RFC 2045 §5.1: media types are case-insensitive; RFC 2046 §5.1.1: boundaries are not.
  if (header.slice(0, typeEnd).toLowerCase() !== 'multipart/form-data') return undefined;

  const reject = (words: string, at: number) =>
    invalidForm('bad_boundary', `In the Content-Type header, ${words}`, at);
  const parameters = parseParameters(header, typeEnd, { escapes: 'none', reject });
  // Only some parsers read an extended or continued parameter (RFC 2231) as the boundary.
  if ([...parameters.keys()].some((name) => name.startsWith('boundary*'))) {
    throw reject('the boundary is given as an extended parameter', typeEnd);
  }
  const boundary = parameters.get('boundary');
  if (boundary === undefined) {
    throw invalidForm('missing_boundary', 'The Content-Type header has no boundary', header.length);
  }
  if (boundary.length < 1 || boundary.length > MAX_BOUNDARY_LENGTH) {
    throw reject(`the boundary is not 1 to ${MAX_BOUNDARY_LENGTH} characters long`, typeEnd);
  }
  if (!bchars.test(boundary)) throw reject('the boundary has an invalid character', typeEnd);
  if (boundary.endsWith(' ')) throw reject('the boundary ends with a space', typeEnd);
  return boundary;
}

/** Returns the parts in the order sent; none for an empty form. Throws Problem for a malformed body. */
export function* parseMultipart(body: Buffer, boundary: string, limits: MultipartLimits): Steps<Part[]> {
  const delimiters = new DelimiterSearch(body, boundary);
  const parts: Part[] = [];
  let delimiter = yield* delimiters.first();
  while (!delimiter.closes) {
    if (parts.length === limits.parts) {
      throw invalidForm('too_many_parts', `There are more than ${limits.parts} parts`, delimiter.end);
    }
    const { end: start, ...headers } = parsePartHeaders(body, delimiter.end, limits.header_bytes);
    // RFC 2046 §5.1.1, `body-part := MIME-part-headers [CRLF *OCTET]`: in a part without a body, the line end of
    // the empty line is also the start of the next delimiter.
    delimiter = yield* delimiters.after(start - 2);
    parts.push({ ...headers, start: Math.min(start, delimiter.start), end: delimiter.start });
  }
  return parts;
}

/** Returns true if the body ends with the closing boundary, with or without a line end. The form is then complete. */
export function endsForm(body: Buffer, boundary: string): boolean {
  const close = `--${boundary}--`;
  return body
    .toString('latin1', Math.max(0, body.length - close.length - 2))
    .trimEnd()
    .endsWith(close);
}

/** A line that separates parts: RFC 2046 §5.1.1 `delimiter` or `close-delimiter`, with its line end. */
interface Delimiter {
  /** End of the previous part. The CR LF before the dashes belongs to the delimiter. */
  start: number;
  end: number;
  /** True for the last delimiter; the epilogue follows. */
  closes: boolean;
}

/**
 * Finds delimiters from front to back, in linear time for any body. A search is linear because the needle begins
 * with a CR that occurs nowhere else in it. Consecutive searches overlap only by the line end after a delimiter.
 * The time for bodies of one size varies by a factor of at most about three.
 */
class DelimiterSearch {
  readonly #body: Buffer;
  /** CR LF "--" boundary: the start of every delimiter except one at offset 0. */
  readonly #needle: Buffer;
  #lookalikes = 0;

  constructor(body: Buffer, boundary: string) {
    this.#body = body;
    this.#needle = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /** Returns the first delimiter, which may follow a preamble (RFC 2046 §5.1.1). The preamble is ignored. */
  *first(): Steps<Delimiter> {
    const dashBoundary = this.#needle.subarray(2);
    const opensBody = this.#body.subarray(0, dashBoundary.length).equals(dashBoundary);
    const delimiter = opensBody ? this.#delimiterAt(-2) : 0;
    if (typeof delimiter === 'object') return delimiter;
    return yield* this.after(0, 'The body does not contain the boundary that Content-Type declares');
  }

  /** Returns the first delimiter that begins at `from` or later. */
  *after(from: number, otherwise = 'The body ends without its closing boundary'): Steps<Delimiter> {
    let at = from;
    for (;;) {
      const start = yield* this.#find(at);
      if (start === -1) throw invalidForm('truncated', otherwise, this.#body.length);
      const delimiter = this.#delimiterAt(start);
      if (typeof delimiter === 'object') return delimiter;
      if (++this.#lookalikes > MAX_LOOKALIKES) {
        const words = `More than ${MAX_LOOKALIKES} lines begin with the boundary but are not delimiters; choose another boundary`;
        throw invalidForm('too_many_lookalikes', words, start);
      }
      at = delimiter;
    }
  }

  *#find(from: number): Steps<number> {
    const [body, needle] = [this.#body, this.#needle];
    for (let start = from; start < body.length; start += searched_bytes) {
      const part = body.subarray(start, start + searched_bytes + needle.length - 1);
      const at = needle.length < FAST_NEEDLE ? indexOfShort(part, needle) : part.indexOf(needle);
      yield (at < 0 ? searched_bytes : at) / 2;
      if (at >= 0) return start + at;
    }
    return -1;
  }

  /**
   * Returns the delimiter at `start`, or the offset at which to continue. The needle must be followed by
   * `transport-padding CRLF`, or by `-- transport-padding` and then CR LF or the end of the body. RFC 2046 §5.1.1
   * accepts any line that begins with the boundary. That is not enough, because the bytes of an image, or a longer
   * boundary, may begin with the same text.
   */
  #delimiterAt(start: number): Delimiter | number {
    const body = this.#body;
    let at = start + this.#needle.length;
    const closes = body[at] === DASH && body[at + 1] === DASH;
    if (closes) at += 2;
    const paddingEnd = at + MAX_PADDING;
    let byte = body[at];
    while (byte === SP || byte === HTAB) {
      byte = body[++at];
      if (at > paddingEnd) {
        throw invalidForm('too_much_padding', `More than ${MAX_PADDING} spaces follow a boundary`, at);
      }
    }
    if (byte === CR && body[at + 1] === LF) return { start, end: at + 2, closes };
    if (closes && at === body.length) return { start, end: at, closes };
    // Many parsers accept a bare LF. If this line were read as content, the form could differ from theirs.
    if (byte === LF) throw invalidForm('bad_line_end', 'A boundary line ends with a bare LF', at);
    return at;
  }
}

/** Number of bytes that are searched at a time. Each piece overlaps the next one by eight bytes. */
const piece_bytes = 16 * 1024;
const overlap_bytes = 8;
const piece = new Uint8Array(piece_bytes);
const pairs = new Uint16Array(piece.buffer);
/** CR LF and LF "-" as numbers. */
const [crLf, lfDash] = new Uint16Array(Uint8Array.of(0x0d, 0x0a, 0x0a, 0x2d).buffer);

/**
 * Does the same as body.indexOf(needle), for a needle of up to eight bytes that begins with CR LF "-". Node searches
 * such short needles by their first byte, so a body of CRs would block the main thread. This function reads pairs of
 * bytes. One of the needle's aligned pairs is CR LF or LF "-", wherever the needle is.
 */
function indexOfShort(body: Buffer, needle: Buffer): number {
  const last = needle.length - 1;
  let found = -1;
  for (let start = 0; found < 0 && start + last < body.length; start += piece_bytes - overlap_bytes) {
    // A copy is read faster than growable shared memory.
    const length = Math.min(piece_bytes, body.length - start);
    piece.set(body.subarray(start, start + length));
    const at = indexInPiece(needle, length);
    if (at >= 0) found = start + at;
  }
  // The copy is wiped, so that no part of a body remains in memory.
  piece.fill(0);
  return found;
}

function indexInPiece(needle: Buffer, length: number): number {
  const last = needle.length - 1;
  const lastByte = needle[last];
  for (let index = 0; 2 * index < length; index++) {
    const pair = pairs[index];
    if (pair !== crLf && pair !== lfDash) continue;
    const at = pair === crLf ? 2 * index : 2 * index - 1;
    if (at < 0 || at + last >= length || piece[at + last] !== lastByte) continue;
    let same = 0;
    while (same < last && piece[at + same] === needle[same]) same++;
    if (same === last) return at;
  }
  return -1;
}
