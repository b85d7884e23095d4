import { Problem } from '../errors.ts';
import { type Steps, step_cost } from './turns.ts';

/** JSON text (RFC 8259 section 7) that is read in pieces. */

/**
 * Returns a piece without an escape that is cut at its end. The caller rejects escaped backslashes, which
 * this may split.
 */
function withoutCutEscape(piece: string): string {
  const last = piece.lastIndexOf('\\');
  return last > piece.length - 6 ? piece.slice(0, last) : piece;
}

/** Decodes the characters of a JSON string; undefined if they are invalid. Uses JSON.parse, which is fast. */
export function unescaped(text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return undefined;
  }
}

/** Default limit, so that any input is read quickly. */
const maxOther_bytes = 64 * 1024;
/** Bytes of a plain string that are checked in one step. */
const piece_bytes = step_cost;
/** Bytes that are searched for the end of a string in one step, about eight times as fast as they are read. */
const searched_bytes = 8 * step_cost;
/** Cost of a value besides its bytes, and of a string that `onText` is called for. */
const value_cost = 128;
const heard_cost = 512;
const maxDepth = 32;

const codeOf = (char: string) => char.charCodeAt(0);
const QUOTE = codeOf('"');
const BACKSLASH = codeOf('\\');
/** Lookup tables by byte: 1 for bytes of the class. A body may have millions of them. */
const classOf = (chars: string) =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(chars.includes(String.fromCharCode(byte))));
const blanks = classOf(' \t\n\r');
const digits = '0123456789';
const inWord = classOf(`${digits}ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.+-`);
const hex = classOf(`${digits}ABCDEFabcdef`);
/** ASCII without controls, quotes and backslashes. */
const inPlainText = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH),
);
/** Characters that may follow a backslash, besides `u`. */
const escapable = classOf('"\\/bfnrt');
const U = codeOf('u');
const numeric = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const literals = { true: true, false: false, null: null } as const;

type Scalar = string | number | boolean | null;

/** Avoids strings, which could not be wiped. A copy is read faster than growable shared memory. */
const piece = new Uint8Array(piece_bytes);
function arePlain(bytes: Uint8Array): boolean {
  piece.set(bytes);
  let at = 0;
  while (at < bytes.length && inPlainText[piece[at]!] === 1) at += 1;
  piece.fill(0, 0, bytes.length);
  return at === bytes.length;
}

/** JSON in ASCII, without escaped quotes or backslashes. */
function isPlain(text: string): boolean {
  if (/[^\x20-\x7f]/.test(text)) return false;
  return !text.includes('\\') || unescaped(text)?.includes('\\') === false;
}

/**
 * Reads JSON (RFC 8259) strictly, from front to back, without building a value of the whole: images in base64
 * stay in place. Every method reads the next token, and throws Problem invalid_json with its position in
 * characters. Strings may be as long as the body, so the methods that may read one work in steps.
 */
export class JsonScan {
  readonly #body: Buffer;
  readonly #max_bytes: number;
  readonly #max_values: number;
  #at = 0;
  #values = 0;
  /** Bytes so far that do not count towards the limit. */
  #exempt = 0;
  /** Number of bytes minus number of UTF-16 characters so far. */
  #surplus = 0;
  #depth = 0;
  /** Cost since the last step. */
  #cost = 0;

  /**
   * `max_bytes`: limit for everything except possible images. `max_values`: limit for the members and items
   * of all lists and objects.
   */
  constructor(body: Buffer, max_bytes = maxOther_bytes, max_values = Number.POSITIVE_INFINITY) {
    this.#body = body;
    this.#max_bytes = max_bytes;
    this.#max_values = max_values;
  }

  /** Returns the first character of the next token without reading it; a null character at the end. */
  peek(): string {
    let byte = this.#byte();
    while (blanks[byte] === 1) {
      this.#at += 1;
      byte = this.#byte();
    }
    return String.fromCharCode(byte);
  }

  /** Yields the name of every member of an object; read its value before the next one. */
  *members(): Generator<string, void, void> {
    for (const _member of this.#list('{', '}')) {
      if (this.peek() !== '"') this.fail();
      const name = this.#text();
      this.#expect(':');
      yield name;
    }
  }

  /** Yields the index of every item of an array; read the item before the next one. */
  items(): Generator<number, void, void> {
    return this.#list('[', ']');
  }

  /** Reads a value; returns undefined for a list or an object, which is not read. */
  scalar(): Scalar | undefined {
    const next = this.peek();
    if (next === '{' || next === '[') return undefined;
    return next === '"' ? this.#text() : this.#word();
  }

  /** Validates and discards any value; `onText` gets the byte at which each string in it begins. */
  *skip(onText?: (start: number) => void): Steps<void> {
    const next = this.peek();
    if (next === '"') onText?.(this.#at + 1);
    this.#cost += next === '"' && onText ? heard_cost : value_cost;
    if (this.#cost >= step_cost) yield this.#step();
    if (next === '{') for (const _name of this.members()) yield* this.skip(onText);
    else if (next === '[') for (const _index of this.items()) yield* this.skip(onText);
    else if (next !== '"' || !(yield* this.#skipPlainText())) this.scalar();
  }

  /** Returns the range of a string's characters. It contains no quote, and the caller validates it. */
  *rawText(): Steps<{ start: number; end: number }> {
    const start = this.#at + 1;
    const end = yield* this.#nextQuote(start);
    if (end < 0) this.fail(this.#body.length);
    this.#at = end + 1;
    this.#exempt += end - start;
    return { start, end };
  }

  /** Throws if anything follows. */
  end(): void {
    if (this.peek() !== '\0' || this.#at < this.#body.length) this.fail();
  }

  /** Converts a byte offset in the last token to a position in characters. */
  positionOf(at: number): number {
    return at - this.#surplus;
  }

  fail(at = this.#at, what = 'Send JSON (RFC 8259): something is wrong at character'): never {
    const position = this.positionOf(at);
    throw new Problem('invalid_json', { detail: `${what} ${position}.`, position });
  }

  *#list(open: string, close: string): Generator<number, void, void> {
    this.#expect(open);
    if (++this.#depth > maxDepth) this.fail(this.#at - 1);
    if (this.peek() !== close) {
      for (let index = 0; ; index++) {
        if (++this.#values > this.#max_values) {
          this.fail(undefined, `Send at most ${this.#max_values} values; there are more at character`);
        }
        yield index;
        if (this.peek() !== ',') break;
        this.#at += 1;
      }
    }
    this.#expect(close);
    this.#depth -= 1;
  }

  #expect(char: string): void {
    if (this.peek() !== char) this.fail();
    this.#at += 1;
  }

  /**
   * Skips a plain string, which may be an image under a wrong name. Returns false and reads nothing
   * otherwise.
   */
  *#skipPlainText(): Steps<boolean> {
    const start = this.#at + 1;
    const end = yield* this.#nextQuote(start);
    if (end < 0 || this.#body[end - 1] === BACKSLASH) return false;
    for (let from = start; from < end; ) {
      const to = Math.min(end, from + piece_bytes);
      this.#cost += to - from;
      if (this.#cost >= step_cost) yield this.#step();
      if (arePlain(this.#body.subarray(from, to))) {
        from = to;
        continue;
      }
      const raw = this.#body.toString('latin1', from, to);
      const piece = from + raw.length < end ? withoutCutEscape(raw) : raw;
      if (!isPlain(piece)) return false;
      from += piece.length;
    }
    this.#at = end + 1;
    this.#exempt += end - start;
    return true;
  }

  /** Returns the position of the first quote from there on; -1 if there is none. */
  *#nextQuote(from: number): Steps<number> {
    for (let start = from; start < this.#body.length; start += searched_bytes) {
      const at = this.#body.subarray(start, start + searched_bytes).indexOf(QUOTE);
      if (at >= 0) return start + at;
      this.#cost += searched_bytes / 8;
      yield this.#step();
    }
    return -1;
  }

  /** Returns the cost since the last step, and begins the next one. */
  #step(): number {
    const cost = this.#cost;
    this.#cost = 0;
    return cost;
  }

  #word(): number | boolean | null {
    const start = this.#at;
    while (inWord[this.#byte()] === 1) this.#at += 1;
    const text = this.#body.toString('latin1', start, this.#at);
    if (Object.hasOwn(literals, text)) return literals[text as keyof typeof literals];
    if (!numeric.test(text)) this.fail(start);
    // Adding 0 turns -0 into 0.
    return Number(text) + 0;
  }

  #text(): string {
    const start = this.#at;
    this.#at += 1;
    for (let byte = this.#byte(); byte !== QUOTE; byte = this.#byte()) {
      if (byte < 0x20) this.fail();
      else if (byte === BACKSLASH) this.#escape();
      else if (byte < 0x80) this.#at += 1;
      else this.#wide(byte);
    }
    this.#at += 1;
    return JSON.parse(this.#body.toString('utf8', start, this.#at));
  }

  #escape(): void {
    const [body, at] = [this.#body, this.#at];
    const next = body[at + 1] ?? 0;
    const isHex = (byte: number | undefined) => hex[byte ?? 0] === 1;
    const isUnicode =
      next === U && isHex(body[at + 2]) && isHex(body[at + 3]) && isHex(body[at + 4]) && isHex(body[at + 5]);
    if (!isUnicode && escapable[next] !== 1) this.fail();
    this.#at += isUnicode ? 6 : 2;
  }

  /** Reads a character of two to four bytes (RFC 3629 section 4). */
  #wide(lead: number): void {
    const [body, at] = [this.#body, this.#at];
    const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    const second = body[at + 1] ?? 0;
    const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    const follows = (byte = 0) => byte >> 6 === 2;
    const fits =
      second >= least &&
      second <= most &&
      (length < 3 || follows(body[at + 2])) &&
      (length < 4 || follows(body[at + 3]));
    if (length === 0 || !fits) this.fail(at, 'Send JSON in UTF-8, which it is not at character');
    this.#at += length;
    this.#surplus += length === 2 ? 1 : 2;
  }

  /** Returns the next byte; 0 at the end. */
  #byte(): number {
    if (this.#at - this.#exempt > this.#max_bytes) {
      this.fail(
        this.#at,
        `Send no more than ${this.#max_bytes} bytes in addition to the images; this is character`,
      );
    }
    return this.#body[this.#at] ?? 0;
  }
}
