import { Problem } from '../errors.ts';
import { type Steps, step_cost } from './turns.ts';

/** JSON strings (RFC 8259 section 7) that are read in pieces. */

/**
 * Removes an escape near the end of a piece, because it may be incomplete. This may split an escaped backslash, so
 * that `isPlain` returns false.
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

/** Default limit for everything except images. */
const maxOther_bytes = 64 * 1024;
/** Number of bytes of a plain string that one step checks. */
const piece_bytes = step_cost;
/** Number of bytes that one step searches for the end of a string, about eight times as fast as reading single bytes. */
const searched_bytes = 8 * step_cost;
/** Cost of a value besides its bytes, and of a string with a call of `onText`. */
const value_cost = 128;
const onText_cost = 512;
const maxDepth = 32;

const codeOf = (char: string) => char.charCodeAt(0);
const QUOTE = codeOf('"');
const BACKSLASH = codeOf('\\');
/** Returns a lookup table by byte: 1 for the bytes in `chars`, otherwise 0. */
const classOf = (chars: string) =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(chars.includes(String.fromCharCode(byte))));
const whiteSpace = classOf(' \t\n\r');
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

const piece = new Uint8Array(piece_bytes);

/**
 * Returns true if all bytes are plain text. Uses no strings, because they cannot be wiped, and a copy, because
 * growable shared memory is slower to read.
 */
function arePlain(bytes: Uint8Array): boolean {
  piece.set(bytes);
  let at = 0;
  while (at < bytes.length && inPlainText[piece[at]!] === 1) at += 1;
  piece.fill(0, 0, bytes.length);
  return at === bytes.length;
}

/** Returns true for ASCII text without raw controls, invalid escapes and escaped backslashes. */
function isPlain(text: string): boolean {
  if (/[^\x20-\x7f]/.test(text)) return false;
  return !text.includes('\\') || unescaped(text)?.includes('\\') === false;
}

/**
 * A strict JSON reader (RFC 8259) that does not build a value of the whole body, so that base64 images stay in
 * place. Methods that read throw Problem invalid_json with the position of an error in characters. A string may be as
 * long as the body, so methods that read long strings run in steps.
 */
export class JsonScan {
  readonly #body: Buffer;
  readonly #max_bytes: number;
  readonly #max_values: number;
  #at = 0;
  #values = 0;
  /** Number of bytes so far that do not count towards the limit. */
  #exempt = 0;
  /** Number of bytes minus number of UTF-16 code units so far. */
  #surplus = 0;
  #depth = 0;
  /** Cost since the last step. */
  #cost = 0;

  /**
   * `max_bytes`: limit for everything except long strings, which may be images. `max_values`: limit for all
   * members and items.
   */
  constructor(body: Buffer, max_bytes = maxOther_bytes, max_values = Number.POSITIVE_INFINITY) {
    this.#body = body;
    this.#max_bytes = max_bytes;
    this.#max_values = max_values;
  }

  /** Returns the first character of the next token without reading it; a null character at the end. */
  peek(): string {
    let byte = this.#byte();
    while (whiteSpace[byte] === 1) {
      this.#at += 1;
      byte = this.#byte();
    }
    return String.fromCharCode(byte);
  }

  /** Yields the name of every member of an object. Read the value before the next name. */
  *members(): Generator<string, void, void> {
    for (const _member of this.#list('{', '}')) {
      if (this.peek() !== '"') this.fail();
      const name = this.#text();
      this.#expect(':');
      yield name;
    }
  }

  /** Yields the index of every item of an array. Read the item before the next index. */
  items(): Generator<number, void, void> {
    return this.#list('[', ']');
  }

  /** Reads a value. Returns undefined for an array or an object without reading it. */
  scalar(): Scalar | undefined {
    const next = this.peek();
    if (next === '{' || next === '[') return undefined;
    return next === '"' ? this.#text() : this.#word();
  }

  /** Validates and discards a value. Calls `onText` with the byte offset of each string in it. */
  *skip(onText?: (start: number) => void): Steps<void> {
    const next = this.peek();
    if (next === '"') onText?.(this.#at + 1);
    this.#cost += next === '"' && onText ? onText_cost : value_cost;
    if (this.#cost >= step_cost) yield this.#step();
    if (next === '{') for (const _name of this.members()) yield* this.skip(onText);
    else if (next === '[') for (const _index of this.items()) yield* this.skip(onText);
    else if (next !== '"' || !(yield* this.#skipPlainText())) this.scalar();
  }

  /** Returns the byte range up to the next quote, without validating it. */
  *rawText(): Steps<{ start: number; end: number }> {
    const start = this.#at + 1;
    const end = yield* this.#nextQuote(start);
    if (end < 0) this.fail(this.#body.length);
    this.#at = end + 1;
    this.#exempt += end - start;
    return { start, end };
  }

  /** Throws Problem unless only white space follows. */
  end(): void {
    if (this.peek() !== '\0' || this.#at < this.#body.length) this.fail();
  }

  /** Converts a byte offset in the last token to a position in characters. */
  positionOf(at: number): number {
    return at - this.#surplus;
  }

  fail(at = this.#at, what = 'Send valid JSON (RFC 8259): there is an error at character'): never {
    const position = this.positionOf(at);
    throw new Problem('invalid_json', { detail: `${what} ${position}.`, position });
  }

  *#list(open: string, close: string): Generator<number, void, void> {
    this.#expect(open);
    if (++this.#depth > maxDepth) this.fail(this.#at - 1);
    if (this.peek() !== close) {
      for (let index = 0; ; index++) {
        if (++this.#values > this.#max_values) {
          this.fail(undefined, `Send at most ${this.#max_values} values; the limit is exceeded at character`);
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
   * Skips a plain string, such as an image under an unknown name. If the string is not plain, returns false
   * and reads nothing.
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

  /** Returns the position of the first quote at or after `from`; -1 if there is none. */
  *#nextQuote(from: number): Steps<number> {
    for (let start = from; start < this.#body.length; start += searched_bytes) {
      const at = this.#body.subarray(start, start + searched_bytes).indexOf(QUOTE);
      if (at >= 0) return start + at;
      this.#cost += searched_bytes / 8;
      yield this.#step();
    }
    return -1;
  }

  /** Returns the cost since the previous step, and begins the next step. */
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
    const min = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const max = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    const follows = (byte = 0) => byte >> 6 === 2;
    const fits =
      second >= min &&
      second <= max &&
      (length < 3 || follows(body[at + 2])) &&
      (length < 4 || follows(body[at + 3]));
    if (length === 0 || !fits) this.fail(at, 'Send JSON in UTF-8: there is an invalid sequence at character');
    this.#at += length;
    this.#surplus += length === 2 ? 1 : 2;
  }

  /** Returns the next byte; 0 at the end. */
  #byte(): number {
    if (this.#at - this.#exempt > this.#max_bytes) {
      this.fail(
        this.#at,
        `Send at most ${this.#max_bytes} bytes in addition to the images; the limit is exceeded at character`,
      );
    }
    return this.#body[this.#at] ?? 0;
  }
}
