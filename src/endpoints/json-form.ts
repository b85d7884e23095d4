import type { Addon } from '../engine/addon.ts';
import { describeSent, excerpt, shortName } from '../engine/client-input.ts';
import { holdsImage, kindOfText, kinds } from '../engine/file-kind.ts';
import { JsonScan, unescaped } from '../engine/json-scan.ts';
import { type Steps, step_cost } from '../engine/turns.ts';
import { Problem } from '../errors.ts';
import { type Form, type FormLimits, type FormRules, head_bytes, SentFields } from './form.ts';
import { maxOf, minOf } from './images.ts';
import { type PackDefaults, readOption } from './options.ts';

/**
 * Reads a form that was sent as a JSON object, and decodes its base64 images in place. The value null selects the
 * default of an option. Throws Problem for the first error.
 */
export function* readJsonForm(
  body: Buffer,
  rules: FormRules,
  limits: FormLimits,
  pack: PackDefaults,
  decodeGroups: Addon['decodeBase64'],
): Steps<Form> {
  const json = new JsonScan(body);
  const sent = new SentFields(rules, limits);
  const names = new Set<string>();
  const maxMembers = limits.max_parts + rules.repeats;
  function* readImage(name: string): Steps<void> {
    const range = yield* imageRange(body, json, name, limits.max_image_bytes, decodeGroups);
    sent.image({ name, filename: undefined, ...range });
  }
  if (json.peek() !== '{') {
    yield* json.skip();
    json.end();
    throw new Problem('invalid_field', {
      detail: 'Send an object as the body.',
      field: '',
      expected: 'an object',
    });
  }
  for (const sentName of json.members()) {
    if (names.has(sentName)) {
      const detail = `Send ${excerpt(sentName)} once.`;
      throw new Problem('duplicate_field', { detail, field: shortName(sentName) });
    }
    if (names.size === maxMembers) {
      json.fail(undefined, `Send at most ${maxMembers} members; the limit is exceeded at character`);
    }
    names.add(sentName);
    const { name, rule } = sent.claim(sentName);
    if (rule === undefined) {
      if ('"[{'.includes(json.peek())) sent.noteUnknown(name);
      yield* json.skip((start) => {
        if (holdsImage(body.subarray(start, start + shown_bytes))) throw sent.unknownFile(name);
      });
    } else if (rule.kind === 'token') {
      const value = json.scalar();
      if (value !== null && typeof value !== 'string') {
        const expected = 'a string';
        const detail = `Send ${expected} as ${name}, not ${describeSent(value)}.`;
        throw new Problem('invalid_field', { detail, field: name, expected });
      }
      sent.setToken(name, value ?? '');
    } else if (rule.kind !== 'image') sent.setOption(name, readOption(name, rule, json.scalar()));
    else if (rule.max === undefined || (sentName !== name && json.peek() === '"')) yield* readImage(name);
    else if (json.peek() !== '[') {
      throw yield* invalidMember(name, `a list of ${minOf(rule)} to ${maxOf(rule)} images`, body, json);
    } else {
      for (const index of json.items()) {
        if (index > 0) sent.claim(name);
        yield* readImage(name);
      }
    }
  }
  json.end();
  return sent.form(pack);
}

const expected = 'an image in base64 without white space';

function* imageRange(
  body: Buffer,
  json: JsonScan,
  name: string,
  max_bytes: number,
  decodeGroups: Addon['decodeBase64'],
): Steps<{ start: number; end: number; head: Buffer }> {
  if (json.peek() !== '"') throw yield* invalidMember(name, expected, body, json);
  const text = yield* json.rawText();
  const { end } = text;
  const start = text.start + dataPrefix(body, text);
  const size = decodedSize(body, start, end);
  // An image above the limit is not decoded. If its text has escapes, its size is unknown before decoding.
  if (size > max_bytes && !(yield* hasEscapes(body, start, end))) {
    const head = Buffer.from(body.toString('latin1', start, Math.min(end, start + head_bytes)), 'base64');
    return { start, end: start + size, head };
  }
  const kept = Buffer.from(body.subarray(start, Math.min(end, start + shown_bytes)));
  const decoded = yield* decodeInPlace(body, start, end, decodeGroups);
  const beginning = 'end' in decoded ? '' : kept.toString();
  kept.fill(0);
  if ('end' in decoded) {
    return { start, end: decoded.end, head: body.subarray(start, Math.min(decoded.end, start + head_bytes)) };
  }
  const position = json.positionOf(decoded.wrong);
  const detail = `Send ${expected} as ${name}, not ${excerpt(beginning, '"')}: character ${position} of the body is invalid.`;
  throw new Problem('invalid_field', {
    detail: `${detail}${base64Advice(beginning)}`,
    field: name,
    expected,
    position,
  });
}

/** Returns the length of the prefix of a `data:` URL (RFC 2397), or 0. Its media type is ignored. */
function dataPrefix(body: Buffer, { start, end }: { start: number; end: number }): number {
  // The first character is compared without creating a string of the image, because strings cannot be wiped.
  if (!'dD'.includes(String.fromCharCode(body[start]!))) return 0;
  const head = /^data:[\w.+-]*(?:\\?\/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]*)*;base64,/i;
  return head.exec(beginningOf(body, start, end))?.[0].length ?? 0;
}

/** Number of bytes at the beginning of a value that are checked for its kind, and of which `detail` quotes a part. */
const shown_bytes = 256;

const beginningOf = (body: Buffer, start: number, end: number) =>
  body.toString('utf8', start, Math.min(end, start + shown_bytes));

/** Returns advice for text that is not base64 but, for example, a URL or a path. */
function base64Advice(beginning: string): string {
  const { detected } = kindOfText(beginning);
  return detected === 'data_url' || detected === 'url' || detected === 'path'
    ? ` ${kinds[detected].advice}`
    : '';
}

/** Reads a member of the wrong type and returns its problem. */
function* invalidMember(field: string, expected: string, body: Buffer, json: JsonScan): Steps<Problem> {
  let sent: unknown;
  if (json.peek() === '"') {
    // The value may be a whole image, so only its beginning is quoted.
    const { start, end } = yield* json.rawText();
    sent = beginningOf(body, start, end);
  } else sent = json.scalar();
  return new Problem('invalid_field', {
    detail: `Send ${expected} as ${field}, not ${describeSent(sent)}.`,
    field,
    expected,
  });
}

/** Returns the decoded size of base64 text that is well-formed and has no escapes. */
function decodedSize(body: Buffer, start: number, end: number): number {
  const padding = /=?=?$/.exec(body.toString('latin1', Math.max(start, end - 2), end))![0].length;
  return Math.floor(((end - start - padding) * 3) / 4);
}

/** Number of bytes that one step searches for an escape, about eight times as fast as reading single bytes. */
const searched_bytes = 8 * step_cost;

function* hasEscapes(body: Buffer, start: number, end: number): Steps<boolean> {
  for (let from = start; from < end; from += searched_bytes) {
    if (body.subarray(from, Math.min(end, from + searched_bytes)).includes('\\')) return true;
    yield step_cost;
  }
  return false;
}

/** Number of bytes at the end that are decoded as a string, enough for the last group and an error in it. */
const tail_bytes = 64;
/** Maximum length of a group of four characters, each of them escaped as `\uXXXX`. */
const group_bytes = 24;
/** Number of bytes of base64 that one step decodes, about twice as fast as reading single bytes. */
const decoded_bytes = 2 * step_cost;

/**
 * Decodes base64 (RFC 4648, section 4) in place. Strict: rejects white space, incomplete padding and unused bits
 * that are not 0. Accepts JSON escapes, because some libraries write `\/`. Returns the end of the decoded bytes, or
 * the position of the first error. `decodeGroups` decodes without strings, because strings cannot be wiped.
 */
export function* decodeInPlace(
  body: Buffer,
  start: number,
  end: number,
  decodeGroups: Addon['decodeBase64'],
): Steps<{ end: number } | { wrong: number }> {
  let [read, written] = [0, 0];
  for (let isCut = true; isCut; ) {
    const at = start + read;
    const to = Math.min(end, at + decoded_bytes);
    const groups = decodeGroups(body.subarray(at, to));
    body.copyWithin(start + written, at, at + groups.written);
    read += groups.read;
    written += groups.written;
    yield groups.read / 2;
    // True if the piece ended within a group. Otherwise the decoder stopped at an error, at padding or at the end.
    isCut = to < end && to - at - groups.read < group_bytes;
  }
  const from = start + read;
  const raw = body.toString('latin1', from, Math.min(end, from + tail_bytes));
  const text = raw.includes('\\') ? (unescaped(raw) ?? roughlyUnescaped(raw)) : raw;
  const bytes = Buffer.from(text, 'base64');
  // Node's decoder is lenient, so its output is encoded again and compared with the input.
  const padded = text.endsWith('=') ? text : text.padEnd(Math.ceil(text.length / 4) * 4, '=');
  if (from + raw.length === end && bytes.toString('base64') === padded) {
    return { end: start + written + bytes.copy(body, start + written) };
  }
  const fault = faultOf(text);
  return { wrong: from + (text === raw ? fault : writtenLength(raw, fault)) };
}

/** Decodes `\/` and `\uXXXX`, and keeps other escapes as errors for faultOf. */
const roughlyUnescaped = (text: string) =>
  text.replace(/\\(?:\/|u([0-9A-Fa-f]{4}))/g, (_, code?: string) =>
    code === undefined ? '/' : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** Returns the length of the escaped text before the decoded character at `index`. */
function writtenLength(text: string, index: number): number {
  let at = 0;
  for (let passed = 0; passed < index; passed++) at += text[at] !== '\\' ? 1 : text[at + 1] === 'u' ? 6 : 2;
  return at;
}

/** Returns the index of the first character that is invalid base64, or the end if the text is truncated. */
function faultOf(text: string): number {
  const other = text.search(/[^A-Za-z0-9+/]/);
  const at = other < 0 ? text.length : other;
  const group = at - (at % 4);
  // Padding may follow only a character whose unused bits are 0.
  const padded = /^[A-Za-z0-9+/](?:[AQgw]==?|[A-Za-z0-9+/][AEIMQUYcgkosw048]=)/.exec(
    text.slice(group, group + 4),
  );
  return padded === null ? at : group + padded[0].length;
}
