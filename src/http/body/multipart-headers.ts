import { isUtf8 } from 'node:buffer';
import { Problem } from '../../errors.ts';

/**
 * Returns a Problem invalid_multipart. `reason`: code for the log. `words`: text for `detail`, without client input.
 * `at`: byte offset in the body or in the Content-Type header.
 */
export function invalidForm(reason: string, words: string, at: number): Problem {
  return new Problem('invalid_multipart', { detail: `${words} (at byte ${at}).` }, reason);
}

/** Parses the headers of one part: RFC 2046 §5.1 defines the syntax, RFC 7578 §4 the semantics. */

interface PartHeaders {
  name: string;
  filename: string | undefined;
  /** Offset of the part's body, after the empty line. */
  end: number;
}

interface Field {
  value: string;
  /** Offset of the header line in the body, for error messages. */
  at: number;
  isUtf8: boolean;
}

/** RFC 7578 §4.8: all other headers of a part are ignored. */
const understood = ['content-disposition', 'content-type', 'content-transfer-encoding'];

/** RFC 2045 §6.2: encodings that do not change the bytes. */
const identityEncodings = ['7bit', '8bit', 'binary'];

const HTAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SP = 0x20;
const DEL = 0x7f;

/**
 * Parses the header lines from `from` up to and including the empty line. `header_bytes`: maximum size of the
 * lines. Throws Problem invalid_multipart.
 */
export function parsePartHeaders(body: Buffer, from: number, header_bytes: number): PartHeaders {
  const fields = new Map<string, Field>();
  let at = from;
  while (!(body[at] === CR && body[at + 1] === LF)) {
    const end = lineEnd(body, at, from + header_bytes);
    addField(fields, body, at, end);
    at = end + 2;
  }
  const encoding = fields.get('content-transfer-encoding');
  // RFC 7578 §4.7 deprecates this header, so encoded bodies are rejected. Without decoding, an image would look
  // damaged.
  if (encoding !== undefined && !identityEncodings.includes(encoding.value.toLowerCase())) {
    const words = 'A part has an encoded body, which is not supported';
    throw invalidForm('bad_transfer_encoding', words, encoding.at);
  }
  return { ...readDisposition(fields.get('content-disposition'), from), end: at + 2 };
}

/** Returns the offset of the CR LF that ends the line. The CR LF must end at or before `limit`. */
function lineEnd(body: Buffer, from: number, limit: number): number {
  for (let at = from; at < body.length; at++) {
    if (at + 2 > limit) throw invalidForm('header_too_large', "A part's headers are larger than allowed", at);
    const byte = body[at]!;
    if (byte === CR && body[at + 1] === LF) return at;
    if (byte === CR && at + 1 === body.length) break;
    // RFC 2046 §4.1.1: a line ends with CR LF, and neither may occur alone.
    if (byte === CR || byte === LF) {
      throw invalidForm('bad_line_end', 'A header line does not end with CR LF', at);
    }
    // RFC 9110 §5.5: control characters are invalid, and NUL, CR and LF are dangerous to other parsers.
    if ((byte < SP && byte !== HTAB) || byte === DEL) {
      throw invalidForm('bad_header', 'A header contains a control character', at);
    }
  }
  throw invalidForm('truncated', 'The body ends within the headers of a part', body.length);
}

function addField(fields: Map<string, Field>, body: Buffer, at: number, end: number): void {
  // RFC 9112 §5.2 (obs-fold): parsers differ on what a folded line means.
  if (body[at] === SP || body[at] === HTAB) throw invalidForm('bad_header', 'A header line is folded', at);
  const bytes = body.subarray(at, end);
  const line = decodeLine(bytes);
  const colon = tokenEnd(line, 0);
  // A token may begin with "-", but no header name does, and some parsers read `--boundary:` as a delimiter.
  if (colon === 0 || line[0] === '-' || line[colon] !== ':') {
    throw invalidForm('bad_header', 'A header line is not of the form name: value', at);
  }
  const name = line.slice(0, colon).toLowerCase();
  if (!understood.includes(name)) return;
  if (fields.has(name)) throw invalidForm('bad_header', `A part has two ${name} headers`, at);
  fields.set(name, { value: trimSpace(line.slice(colon + 1)), at, isUtf8: isUtf8(bytes) });
}

/**
 * Decodes a header line as UTF-8 (RFC 7578 §5.1.2). Invalid UTF-8 is replaced. Older clients send file names in the
 * encoding of their system. In GBK, Shift_JIS and Big5 a backslash may be the second byte of a character, so a
 * backslash after a byte above 0x7F is removed and escapes nothing.
 */
function decodeLine(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  const text = bytes.toString('latin1').replaceAll(/([\x80-\xff])\\+/g, '$1');
  return Buffer.from(text, 'latin1').toString();
}

/** RFC 7578 §4.2: each part must have `Content-Disposition: form-data` with a name. */
function readDisposition(field: Field | undefined, from: number): Pick<PartHeaders, 'name' | 'filename'> {
  if (field === undefined) {
    throw invalidForm('missing_disposition', 'A part has no Content-Disposition header', from);
  }
  const { value, at } = field;
  const typeEnd = tokenEnd(value, 0);
  if (value.slice(0, typeEnd).toLowerCase() !== 'form-data') {
    throw invalidForm('not_form_data', 'The Content-Disposition of a part is not form-data', at);
  }
  const reject = (words: string) =>
    invalidForm('bad_header', `In a Content-Disposition header, ${words}`, at);
  const parameters = parseParameters(value, typeEnd, { escapes: 'quotes', reject });
  for (const parameter of parameters.keys()) {
    // Only some parsers read `name*` and continuations (RFC 2231) as the field's name.
    if (/^name\*/.test(parameter)) throw reject('the name is given as an extended parameter');
  }
  const name = parameters.get('name');
  if (name === undefined) throw invalidForm('missing_name', 'A part has no name', at);
  // With replacement characters, two different names could become equal.
  if (!field.isUtf8 && name.includes('\ufffd')) throw reject('the name is not UTF-8');

  const filename = parameters.get('filename');
  const extended = parameters.get('filename*');
  // RFC 7578 §4.2 forbids filename*, but older Python clients send only filename* for names that are not ASCII.
  // It takes precedence (RFC 6266 §4.3). If it cannot be decoded, it is ignored, because it is only a label.
  const decoded = extended === undefined ? undefined : decodeExtended(extended);
  return {
    name: unescapeName(name),
    filename: decoded ?? (filename === undefined ? undefined : unescapeName(filename)),
  };
}

/** WHATWG HTML §4.10.21.8: browsers escape a name or filename with these three sequences only. */
function unescapeName(name: string): string {
  return name.replaceAll('%0A', '\n').replaceAll('%0D', '\r').replaceAll('%22', '"');
}

/** RFC 8187 §3.2.1: `charset'language'percent-encoded`. Returns undefined for any other form. */
function decodeExtended(value: string): string | undefined {
  const [, charset, encoded] = /^([^']*)'[^']*'([^']*)$/.exec(value) ?? [];
  if (charset === undefined || encoded === undefined) return undefined;
  try {
    const bytes = Buffer.from(encoded)
      .toString('latin1')
      .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return new TextDecoder(charset).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    // TextDecoder does not know the charset.
    return undefined;
  }
}

/**
 * Parses parameters of a header, such as `; name=value; name="value"` (RFC 9110 §5.6.6, RFC 2045 §5.1, RFC 2183
 * §2).
 */

/** RFC 9110 §5.6.2: characters of a token. */
const token = /[0-9A-Za-z!#$%&'*+.^_`|~-]*/y;

interface ParameterRules {
  /**
   * Characters that a backslash escapes in a quoted string. `quotes`: only `"` and `\`, because browsers do not
   * escape the backslashes of a file name, as in `"C:\new.jpg"`. `none`: rejects backslashes inside quotes and commas
   * outside, because parsers differ on both.
   */
  escapes: 'none' | 'quotes';
  /** Returns the error to throw; `at` is an index into the text. */
  reject(words: string, at: number): Error;
}

interface Value {
  text: string;
  end: number;
}

/** Returns the index of the first character at or after `from` that is not part of a token. */
export function tokenEnd(text: string, from: number): number {
  token.lastIndex = from;
  token.test(text);
  return token.lastIndex;
}

/** Parses the parameters of `text` from index `from`. Names are returned in lower case. */
export function parseParameters(text: string, from: number, rules: ParameterRules): Map<string, string> {
  const parameters = new Map<string, string>();
  let at = skipSpace(text, from);
  while (at < text.length) {
    if (text[at] !== ';') throw rules.reject('a ";" is missing between parameters', at);
    at = skipSpace(text, at + 1);
    // RFC 9110 §5.6.6: a parameter may be empty, as after a trailing ";".
    if (at === text.length || text[at] === ';') continue;

    const equals = tokenEnd(text, at);
    const name = text.slice(at, equals).toLowerCase();
    if (name === '' || text[equals] !== '=') {
      throw rules.reject('a parameter is not of the form name=value', at);
    }
    // If a name occurs twice, parsers differ on which value counts.
    if (parameters.has(name)) throw rules.reject('a parameter is given twice', at);

    const value = (text[equals + 1] === '"' ? quotedString : bareValue)(text, equals + 1, rules);
    parameters.set(name, value.text);
    at = skipSpace(text, value.end);
  }
  return parameters;
}

/** Parses a quoted string (RFC 9110 §5.6.4). `open`: index of the opening quote. */
function quotedString(text: string, open: number, rules: ParameterRules): Value {
  let value = '';
  let from = open + 1;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"') return { text: value + text.slice(from, at), end: at + 1 };
    if (char !== '\\') continue;
    if (rules.escapes === 'none') throw rules.reject('a quoted value has a backslash', at);
    const next = text[at + 1];
    if (next === '"' || next === '\\') {
      value += text.slice(from, at);
      // The next run begins with the escaped character, and the loop skips it, so that it does not end the string.
      from = ++at;
    }
  }
  throw rules.reject('a quoted value is not closed', open);
}

/**
 * Parses an unquoted value. RFC 2045 §5.1 requires a token; other characters are accepted too, because some clients
 * send `/ : = ? ( )` or UTF-8.
 */
function bareValue(text: string, from: number, rules: ParameterRules): Value {
  let at = from;
  while (at < text.length && text[at] !== ';' && !isSpace(text[at])) {
    if (text[at] === '"') throw rules.reject('there is a quote inside an unquoted value', at);
    if (text[at] === ',' && rules.escapes === 'none') {
      throw rules.reject('there is a comma outside quotes', at);
    }
    at++;
  }
  if (at === from) throw rules.reject('a parameter has no value', from);
  return { text: text.slice(from, at), end: at };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text[at])) at++;
  return at;
}

/** Removes leading and trailing spaces and tabs. String.trim would also remove no-break spaces, which are content. */
export function trimSpace(text: string): string {
  let end = text.length;
  while (isSpace(text[end - 1])) end--;
  return text.slice(skipSpace(text, 0), end);
}

/** RFC 9110 §5.6.3: optional white space consists of spaces and tabs. */
const isSpace = (char: string | undefined): boolean => char === ' ' || char === '\t';
