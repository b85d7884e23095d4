import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { renamedSetting } from './old-names.ts';

/** The settings file in FACEMATCH_CONFIG: one JSON object whose members have the names of variables. */
export interface SettingsFile {
  /** Values by variable, as strings like those of environment variables. */
  values: ReadonlyMap<string, string>;
  /** One-line error messages. They contain no values from the file, because a value may be a password. */
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
        fault(name, renamedSetting(name) ?? 'is not a setting; facematch config lists all settings');
      else if (text === undefined)
        fault(name, 'expected a string, a number, a boolean, or a non-empty list of them without commas');
      else values.set(name, text);
    }
  } catch (error) {
    fault(variable, error instanceof UnusableFile ? `the file ${error.reason}` : (error as Error).message);
  }
  return { values, faults };
}

/** Throws a SyntaxError that, unlike V8's own, does not quote the text, because it may contain a password. */
function parseJson(content: string): unknown {
  const text = withoutByteOrderMark(content);
  try {
    return JSON.parse(text);
  } catch (error) {
    const [, position] = / at position (\d+)/.exec((error as SyntaxError).message) ?? [];
    const lines = text.slice(0, Number(position)).split('\n');
    const place = position && `, line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
    throw new SyntaxError(`not valid JSON${place ?? ''}`);
  }
}

/** Converts a JSON value into the text of a variable. Returns undefined if that is impossible. */
function textOf(value: unknown): string | undefined {
  if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
  if (!Array.isArray(value)) return undefined;
  const items = value.map((item) => (Array.isArray(item) ? undefined : textOf(item)));
  return items.length > 0 && items.every((item) => item && !item.includes(',')) ? items.join(',') : undefined;
}

/** A file that cannot be used. The message is meant for the user. `reason` is logged and contains no paths. */
export class UnusableFile extends Error {
  readonly reason: string;
  /** Advice for the user on how to fix the problem. */
  readonly fix: string;
  /** True if the file does not exist. */
  readonly missing: boolean;

  /** The message consists of `what`, such as "The key file", the path, the reason and the fix. */
  constructor(what: string, file: string, reason: string, fix: string, missing = false) {
    super(`${what} ${file} ${reason}. ${fix}`);
    this.name = 'UnusableFile';
    this.reason = reason;
    this.fix = fix;
    this.missing = missing;
  }
}

/**
 * Returns the text and the state of a file, both from one descriptor. Throws UnusableFile if the file cannot be
 * read or is not a regular file, because a named pipe would block and a device may have no end. `fix`: advice if
 * the file is missing or not regular.
 */
export function readRegular(what: string, file: string, fix: string): { text: string; stats: Stats } {
  try {
    // With O_NONBLOCK, which Windows lacks, opening a named pipe does not wait for a writer.
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) throw new UnusableFile(what, file, 'is not a regular file', fix);
      return { text: readFileSync(descriptor, 'utf8'), stats };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new UnusableFile(what, file, 'does not exist', fix, true);
    throw new UnusableFile(
      what,
      file,
      `cannot be read (${code})`,
      'Check the permissions of the file and its folder.',
    );
  }
}

/** Removes the byte order mark, which some editors write at the beginning. */
export const withoutByteOrderMark = (text: string) => text.replace(/^\ufeff/, '');
