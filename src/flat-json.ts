import { createRequire } from 'node:module';
import type { JSONVisitor } from 'jsonc-parser';

type Scalar = string | number | boolean;

export interface FlatEntry {
  name: string;
  value: Scalar | Scalar[];
  /** Where the name stands: `line 1, column 2`. */
  place: string;
}

/** The message begins with the place, and has nothing of the text in it: that may be a password. */
export class FlatJsonError extends Error {}

const scalar = 'a text in double quotes, a number, true or false';
/** By depth: for the text, for a name, within a list. */
const expected = ['expected {', `expected ${scalar}, or a list of them in [ ]`, `expected ${scalar}`];

const require = createRequire(import.meta.url);

/**
 * JSON (RFC 8259) of one object without others in it: its entries in their order, the same name perhaps twice. Throws FlatJsonError
 * at the first fault. JSON.parse tells no place in Node 20, takes a name twice, and quotes what lies around a fault.
 */
export function parseFlatJson(text: string): FlatEntry[] {
  // Loaded here: workers and health checks import this file too, and few have settings to read from one.
  const { printParseErrorCode, visit } = require('jsonc-parser') as typeof import('jsonc-parser');
  const entries: FlatEntry[] = [];
  const placeAt = (line: number, column: number) => `line ${line + 1}, column ${column + 1}`;
  // Thrown through the parser, which would go on after a fault and down into whatever is nested.
  const refuse = (why: string, line: number, column: number): never => {
    throw new FlatJsonError(`${placeAt(line, column)}: ${why}`);
  };
  const visitor: JSONVisitor = {
    onObjectBegin(_offset, _length, line, column, path) {
      if (path().length !== 0) refuse(expected[path().length]!, line, column);
    },
    onObjectProperty(name, _offset, _length, line, column) {
      entries.push({ name, value: [], place: placeAt(line, column) });
    },
    onArrayBegin(_offset, _length, line, column, path) {
      if (path().length !== 1) refuse(expected[path().length]!, line, column);
    },
    onLiteralValue(literal: Scalar | null, _offset, _length, line, column, path) {
      const depth = path().length;
      if (depth === 0 || literal === null) return refuse(expected[depth]!, line, column);
      const entry = entries.at(-1)!;
      if (depth === 1) entry.value = literal;
      else (entry.value as Scalar[]).push(literal);
    },
    onError(code, _offset, _length, line, column) {
      // PropertyNameExpected → property name expected
      const words = printParseErrorCode(code).replace(/\B[A-Z]/g, ' $&');
      refuse(`not JSON: ${words.toLowerCase()}`, line, column);
    },
  };
  // Some editors put a byte order mark in front.
  visit(text.replace(/^\ufeff/, ''), visitor, { disallowComments: true });
  return entries;
}
