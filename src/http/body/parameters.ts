/**
 * The `; name=value; name="value"` tail that Content-Type and Content-Disposition share
 * (RFC 9110 §5.6.6, RFC 2045 §5.1, RFC 2183 §2).
 */

/** RFC 9110 §5.6.2: what a token is made of. */
const token = /[0-9A-Za-z!#$%&'*+.^_`|~-]*/y;

/** RFC 2046 §5.1.1: what a boundary is made of. */
export const bchars = /^[0-9A-Za-z'()+_,./:=? -]*$/;

interface ParameterRules {
  /**
   * What a backslash in a quoted string escapes. With `quotes` only `"` and `\`: browsers quote a file's name without escaping
   * its backslashes, as in `"C:\new.jpg"`. With `none` there must not be one, nor a comma outside quotes: parsers differ on both.
   */
  escapes: 'none' | 'quotes';
  /** Returns the error to throw; `at` is an index into the text. */
  refuse(words: string, at: number): Error;
}

interface Value {
  text: string;
  end: number;
}

/** Index of the first character from `from` on that is not part of a token. */
export function tokenEnd(text: string, from: number): number {
  token.lastIndex = from;
  token.test(text);
  return token.lastIndex;
}

/** Reads the parameters of `text` from index `from` on; names are returned in lower case. */
export function parseParameters(text: string, from: number, rules: ParameterRules): Map<string, string> {
  const parameters = new Map<string, string>();
  let at = skipSpace(text, from);
  while (at < text.length) {
    if (text[at] !== ';') throw rules.refuse('a ";" is missing between parameters', at);
    at = skipSpace(text, at + 1);
    // RFC 9110 §5.6.6: a parameter may be empty, as after a trailing ";".
    if (at === text.length || text[at] === ';') continue;

    const equals = tokenEnd(text, at);
    const name = text.slice(at, equals).toLowerCase();
    if (name === '' || text[equals] !== '=') {
      throw rules.refuse('a parameter is not of the form name=value', at);
    }
    // Parsers differ on which of the two counts.
    if (parameters.has(name)) throw rules.refuse('a parameter is given twice', at);

    const value = (text[equals + 1] === '"' ? quotedString : bareValue)(text, equals + 1, rules);
    parameters.set(name, value.text);
    at = skipSpace(text, value.end);
  }
  return parameters;
}

/** RFC 9110 §5.6.4: `"…"`, opening at `open`. */
function quotedString(text: string, open: number, rules: ParameterRules): Value {
  let value = '';
  let from = open + 1;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"') return { text: value + text.slice(from, at), end: at + 1 };
    if (char !== '\\') continue;
    if (rules.escapes === 'none') throw rules.refuse('a quoted value has a backslash', at);
    const next = text[at + 1];
    if (next === '"' || next === '\\') {
      value += text.slice(from, at);
      // The escaped character starts the next run and is skipped, so that an escaped quote does not end the string.
      from = ++at;
    }
  }
  throw rules.refuse('a quoted value is not closed', open);
}

/**
 * RFC 2045 §5.1 requires a token here. Some clients leave `/ : = ? ( )` and UTF-8 unquoted, which is harmless: a value ends
 * only at ";" or white space.
 */
function bareValue(text: string, from: number, rules: ParameterRules): Value {
  let at = from;
  while (at < text.length && text[at] !== ';' && !isSpace(text[at])) {
    if (text[at] === '"') throw rules.refuse('there is a quote inside an unquoted value', at);
    if (text[at] === ',' && rules.escapes === 'none') {
      throw rules.refuse('there is a comma outside quotes', at);
    }
    at++;
  }
  if (at === from) throw rules.refuse('a parameter has no value', from);
  return { text: text.slice(from, at), end: at };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text[at])) at++;
  return at;
}

/** The text without leading and trailing white space; String.trim would also remove no-break spaces, which are content. */
export function trimSpace(text: string): string {
  let end = text.length;
  while (isSpace(text[end - 1])) end--;
  return text.slice(skipSpace(text, 0), end);
}

/** RFC 9110 §5.6.3: optional white space is blanks and tabs. */
function isSpace(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}
