import type { Addon } from '../engine/addon.ts';
import { unescaped, withoutCutEscape } from '../engine/json-scan.ts';

const chunk = 64 * 1024;

/** How many bytes a text of base64 stands for, when it is well-formed and has no escapes. */
export function decodedSize(body: Buffer, start: number, end: number): number {
  const padding = /=?=?$/.exec(body.toString('latin1', Math.max(start, end - 2), end))![0].length;
  return Math.floor(((end - start - padding) * 3) / 4);
}

/**
 * Decodes base64 (RFC 4648 section 4) in place. Strict: no blanks, all of its padding or none, unused bits 0; JSON's escapes are taken,
 * because some libraries write `\/`. Gives where the bytes end, or the byte from which it is wrong. `decodeGroups` does it, but for the
 * end and what is wrong, without strings, which cannot be wiped.
 */
export function decodeInPlace(
  body: Buffer,
  start: number,
  end: number,
  decodeGroups: Addon['decodeBase64'] = () => ({ read: 0, written: 0 }),
): { end: number } | { wrong: number } {
  const { read, written } = decodeGroups(body.subarray(start, end));
  let to = start + written;
  let carry = '';
  for (let from = start + read; from < end; ) {
    const raw = body.toString('latin1', from, Math.min(end, from + chunk));
    const whole = from + raw.length < end ? withoutCutEscape(raw) : raw;
    const plain = whole.includes('\\') ? (unescaped(whole) ?? roughlyUnescaped(whole)) : whole;
    const next = from + whole.length;
    const text = carry + plain;
    const length = next < end ? text.length - (text.length % 4) : text.length;
    const part = text.slice(0, length);
    const written = body.write(part, to, 'base64');
    // Node's decoder is lenient; what it gives is encoded in one way only, but for the padding, which ends the text.
    const padded = next < end || part.endsWith('=') ? part : part.padEnd(Math.ceil(part.length / 4) * 4, '=');
    const again = body.toString('base64', to, to + written);
    if (again !== padded || (part.endsWith('=') && next < end)) {
      const fault = faultOf(part) - carry.length;
      return { wrong: from + (plain === whole ? fault : writtenLength(whole, fault)) };
    }
    carry = text.slice(length);
    to += written;
    from = next;
  }
  return { end: to };
}

/** For what is no JSON, and so no base64: where it is wrong is found now, and no further piece is read. */
const roughlyUnescaped = (text: string) =>
  text.replace(/\\(?:\/|u([0-9A-Fa-f]{4}))/g, (_, code?: string) =>
    code === undefined ? '/' : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** How long a text with escapes is up to the character at `index` of what it says. */
function writtenLength(text: string, index: number): number {
  let at = 0;
  for (let passed = 0; passed < index; passed++) at += text[at] !== '\\' ? 1 : text[at + 1] === 'u' ? 6 : 2;
  return at;
}

/** The index of the first character that no base64 goes on with; the end, where there is too little. */
function faultOf(text: string): number {
  const other = text.search(/[^A-Za-z0-9+/]/);
  const at = other < 0 ? text.length : other;
  const group = at - (at % 4);
  // Padding only follows a letter whose unused bits are 0.
  const padded = /^[A-Za-z0-9+/](?:[AQgw]==?|[A-Za-z0-9+/][AEIMQUYcgkosw048]=)/.exec(
    text.slice(group, group + 4),
  );
  return padded === null ? at : group + padded[0].length;
}
