/**
 * JSON (RFC 8259) of one object without others in it, with the place of everything: JSON.parse tells no place in Node 20, takes
 * a name that stands there twice, and quotes what lies around a fault, which may be a password.
 */
export type FlatValue = string | number | boolean | readonly (string | number | boolean)[];

export interface Place {
  /** Both from 1. */
  line: number;
  column: number;
}

export interface FlatEntry {
  name: string;
  value: FlatValue;
  place: Place;
}

export class FlatJsonError extends Error {
  readonly place: Place;

  constructor(expected: string, place: Place) {
    super(`expected ${expected}`);
    this.name = 'FlatJsonError';
    this.place = place;
  }
}

const tokens = {
  blank: /[ \t\r\n]*/y,
  string: /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"/uy,
  number: /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y,
  boolean: /(?:true|false)(?!\w)/y,
} as const;

const scalar = 'a text in double quotes, a number, true or false';

/** The entries in their order, the same name perhaps twice. Throws FlatJsonError at the first fault. */
export function parseFlatJson(text: string): FlatEntry[] {
  return new Reader(text).object();
}

class Reader {
  readonly #text: string;
  #at: number;

  constructor(text: string) {
    this.#text = text;
    // Some editors put a byte order mark in front.
    this.#at = text.startsWith('\ufeff') ? 1 : 0;
  }

  object(): FlatEntry[] {
    const entries: FlatEntry[] = [];
    this.#expect('{', '{');
    if (!this.#takes('}')) {
      do {
        entries.push(this.#entry());
      } while (this.#takes(','));
      this.#expect('}', ', or }');
    }
    this.#skipBlank();
    if (this.#at < this.#text.length) throw this.#fault('nothing behind the last }');
    return entries;
  }

  #entry(): FlatEntry {
    this.#skipBlank();
    const place = this.#place();
    const name = this.#token('string');
    if (name === undefined) throw this.#fault('a name in double quotes');
    this.#expect(':', ':');
    return { name: JSON.parse(name) as string, value: this.#value(), place };
  }

  #value(): FlatValue {
    if (!this.#takes('[')) return this.#scalar(`${scalar}, or a list of them in [ ]`);
    const items: (string | number | boolean)[] = [];
    if (this.#takes(']')) return items;
    do {
      items.push(this.#scalar(scalar));
    } while (this.#takes(','));
    this.#expect(']', ', or ]');
    return items;
  }

  #scalar(expected: string): string | number | boolean {
    this.#skipBlank();
    const token = this.#token('string') ?? this.#token('number') ?? this.#token('boolean');
    if (token === undefined) throw this.#fault(expected);
    return JSON.parse(token) as string | number | boolean;
  }

  #token(kind: keyof typeof tokens): string | undefined {
    const pattern = tokens[kind];
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #skipBlank(): void {
    this.#token('blank');
  }

  #takes(sign: string): boolean {
    this.#skipBlank();
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #expect(sign: string, expected: string): void {
    if (!this.#takes(sign)) throw this.#fault(expected);
  }

  #fault(expected: string): FlatJsonError {
    return new FlatJsonError(expected, this.#place());
  }

  #place(): Place {
    const before = this.#text.slice(0, this.#at).split('\n');
    return { line: before.length, column: before.at(-1)!.length + 1 };
  }
}
