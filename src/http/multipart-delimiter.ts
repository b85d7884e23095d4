import { MultipartError } from './multipart-error.ts';

/** A line that divides the body: RFC 2046 §5.1.1 `delimiter` or `close-delimiter`, with its own line end. */
export interface Delimiter {
  /** Where the part before it ends. The CR LF before the dashes belongs to the delimiter, not to the part. */
  start: number;
  /** Where the headers of the next part begin. */
  end: number;
  /** It ends the body; what follows is the epilogue. */
  closes: boolean;
}

const HTAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SP = 0x20;
const DASH = 0x2d;

/** What every delimiter begins with, whatever the boundary. */
const OPENING = Buffer.from('\r\n--');

/**
 * A lookalike costs calls into native code, some 60 ns each, which a body of nothing else turns into half a
 * second. No picture has more than one or two, so after this many the search goes on byte by byte: ten times
 * slower on a picture, several times faster on such a body (bench/multipart.mjs).
 */
const MOST_LOOKALIKES = 64;

/**
 * Finds delimiters from front to back. Linear in the body, whatever is in it: searches never overlap but for
 * the line end behind a delimiter, and each is linear by itself (see `#find` and `indexOfByHand`).
 */
export class DelimiterSearch {
  readonly #body: Buffer;
  /** CR LF "--" boundary: what every delimiter but one at offset 0 begins with. */
  readonly #needle: Buffer;
  #lookalikes = 0;

  constructor(body: Buffer, boundary: string) {
    this.#body = body;
    this.#needle = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /** The first delimiter: at the very start, or after a preamble (RFC 2046 §5.1.1), which is ignored. */
  first(): Delimiter {
    const dashBoundary = this.#needle.subarray(2);
    const opensBody = this.#body.subarray(0, dashBoundary.length).equals(dashBoundary);
    const delimiter = opensBody ? this.#judge(-2) : undefined;
    return delimiter ?? this.after(0, 'The body does not contain the boundary that Content-Type declares');
  }

  /** The first delimiter that begins at `from` or later. */
  after(from: number, otherwise = 'The body ends without its closing boundary'): Delimiter {
    let at = from;
    for (;;) {
      const start = this.#find(at);
      if (start === -1) throw new MultipartError('truncated', otherwise, this.#body.length);
      const delimiter = this.#judge(start);
      if (delimiter !== undefined) return delimiter;
      this.#lookalikes++;
      at = start + this.#needle.length;
    }
  }

  /**
   * Node's search for so few bytes is memchr for the first of them, over and over. For a whole needle it would
   * turn to Horspool where a picture puts up resistance, which takes three to five times as long. Linear: the
   * opening begins with a CR that occurs nowhere else in it, so one hit cannot overlap another.
   */
  #find(from: number): number {
    const body = this.#body;
    const needle = this.#needle;
    let at = from;
    while (this.#lookalikes < MOST_LOOKALIKES) {
      at = body.indexOf(OPENING, at);
      if (at === -1) return -1;
      if (body.subarray(at, at + needle.length).equals(needle)) return at;
      this.#lookalikes++;
      at += OPENING.length;
    }
    return indexOfByHand(body, needle, at);
  }

  /**
   * Whether the needle at `start` is the beginning of a delimiter: `transport-padding CRLF` must follow, or
   * `-- transport-padding` and CR LF or the end. RFC 2046 §5.1.1 would take anything that begins with the
   * boundary, but the text of a boundary within a picture is a picture, and a longer boundary that begins
   * with ours is another boundary.
   */
  #judge(start: number): Delimiter | undefined {
    const body = this.#body;
    let at = start + this.#needle.length;
    const closes = body[at] === DASH && body[at + 1] === DASH;
    if (closes) at += 2;
    while (body[at] === SP || body[at] === HTAB) at++;
    if (body[at] === CR && body[at + 1] === LF) return { start, end: at + 2, closes };
    if (closes && at === body.length) return { start, end: at, closes };
    // Many parsers take this for a delimiter: to read it as a part's bytes is to see another form than they.
    if (body[at] === LF) throw new MultipartError('bad_line_end', 'A boundary line ends with a bare LF', at);
    return undefined;
  }
}

/**
 * Buffer.indexOf in one pass. The needle's first byte occurs nowhere else in it, so none of the bytes of a
 * failed match can begin another one: no byte is passed over twice but the one that the match failed at.
 */
function indexOfByHand(body: Buffer, needle: Buffer, from: number): number {
  let at = from;
  while (at < body.length) {
    let matched = 0;
    while (matched < needle.length && body[at + matched] === needle[matched]) matched++;
    if (matched === needle.length) return at;
    at += Math.max(matched, 1);
  }
  return -1;
}
