import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { renamedSetting } from './old-names.ts';

/** The file that FACEMATCH_CONFIG names: one JSON object whose members are variables. */
export interface SettingsFile {
  /** Values by variable, as the text that the environment would hold. */
  values: ReadonlyMap<string, string>;
  /**
   * Messages for the operator, of one line each. They contain no values of the file, because one may be a
   * password.
   */
  faults: readonly string[];
}

const variable = 'FACEMATCH_CONFIG';

/** `file`: '' for no file. `known`: allowed variables. Never throws. */
export function readSettingsFile(file: string, known: readonly string[]): SettingsFile {
  const values = new Map<string, string>();
  const faults: string[] = [];
  if (file === '') return { values, faults };
  const fault = (name: string, what: string) => faults.push(`${name}: ${what} (${file})`);
  try {
    const content = parseJson(readRegular('The file', file, '').text);
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      throw new SyntaxError('expected one JSON object { }');
    }
    for (const [name, value] of Object.entries(content)) {
      const text = textOf(value);
      if (name === variable) fault(name, 'cannot be set in the file itself');
      else if (!known.includes(name))
        fault(name, renamedSetting(name) ?? 'is not a setting; facematch config shows them all');
      else if (text === undefined)
        fault(name, 'expected a text, a number, true or false, or a list of them without commas in it');
      else values.set(name, text);
    }
  } catch (error) {
    fault(variable, error instanceof UnusableFile ? `the file ${error.reason}` : (error as Error).message);
  }
  return { values, faults };
}

/** Throws a SyntaxError that quotes nothing of the text, unlike V8's own, because it may hold a password. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(withoutMark(text));
  } catch (error) {
    const [, position] = / at position (\d+)/.exec((error as SyntaxError).message) ?? [];
    const lines = text.slice(0, Number(position)).split('\n');
    const place = position && `, line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
    throw new SyntaxError(`not valid JSON${place ?? ''}`);
  }
}

/** Returns undefined for a value that cannot be written as a variable. */
function textOf(value: unknown): string | undefined {
  if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
  if (!Array.isArray(value)) return undefined;
  const items = value.map((item) => (Array.isArray(item) ? undefined : textOf(item)));
  return items.length > 0 && items.every((item) => item && !item.includes(',')) ? items.join(',') : undefined;
}

/** A file that cannot be used. The message is for people; `reason` goes to the log and contains no paths. */
export class UnusableFile extends Error {
  readonly reason: string;
  /** Fix for the problem, in English. */
  readonly cure: string;
  /** True if the file does not exist. */
  readonly missing: boolean;

  /** The message consists of `what` (such as "The key file"), its path, the reason and the fix. */
  constructor(what: string, file: string, reason: string, cure: string, missing = false) {
    super(`${what} ${file} ${reason}. ${cure}`);
    this.name = 'UnusableFile';
    this.reason = reason;
    this.cure = cure;
    this.missing = missing;
  }
}

/**
 * Returns the text and the state of a file, both from one descriptor. Throws UnusableFile, also if it is not a
 * regular file: a named pipe would block its reader, and a device may have no end. `cure`: how to fix a missing
 * file.
 */
export function readRegular(what: string, file: string, cure: string): { text: string; stats: Stats } {
  try {
    // Without O_NONBLOCK (which Windows lacks) opening a named pipe would wait for a writer.
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) throw new UnusableFile(what, file, 'is not a regular file', cure);
      return { text: readFileSync(descriptor, 'utf8'), stats };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new UnusableFile(what, file, 'does not exist', cure, true);
    throw new UnusableFile(what, file, `cannot be read (${code})`, 'Check who owns it and its folder.');
  }
}

/** Removes a byte order mark, which some editors write at the beginning. */
export const withoutMark = (text: string) => text.replace(/^\ufeff/, '');
