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

/**
 * Finds delimiters from front to back. Linear in the body, whatever is in it: searches never overlap but for the line
 * end behind a delimiter. Each is linear by itself, because the needle begins with a CR that occurs nowhere else in it.
 */
export class DelimiterSearch {
  readonly #body: Buffer;
  /** CR LF "--" boundary: what every delimiter but one at offset 0 begins with. */
  readonly #needle: Buffer;

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
      const start = this.#body.indexOf(this.#needle, at);
      if (start === -1) throw new MultipartError('truncated', otherwise, this.#body.length);
      const delimiter = this.#judge(start);
      if (delimiter !== undefined) return delimiter;
      at = start + this.#needle.length;
    }
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
