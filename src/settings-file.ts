import { readFileSync } from 'node:fs';
import { FlatJsonError, type FlatValue, type Place, parseFlatJson } from './flat-json.ts';

/** The file that FACEMATCH_CONFIG names: JSON of one object, whose names are those of the variables. */
export interface SettingsFile {
  /** By variable: its value as the environment would have it, and where it stands. */
  values: ReadonlyMap<string, { text: string; place: string }>;
  /** Each one line for a person. */
  faults: readonly string[];
}

/** `known`: the variables that may stand in it. Never throws. */
export function readSettingsFile(file: string, known: readonly string[]): SettingsFile {
  const values = new Map<string, { text: string; place: string }>();
  const faults: string[] = [];
  const at = ({ line, column }: Place) => `${file}, line ${line}, column ${column}`;
  try {
    for (const { name, value, place } of parseFlatJson(readFileSync(file, 'utf8'))) {
      const text = textOf(value);
      if (!known.includes(name)) faults.push(`${name}: ${unknown(name, known)} (${at(place)})`);
      else if (values.has(name)) faults.push(`${name}: stands there twice (${at(place)})`);
      else if (text === undefined)
        faults.push(`${name}: expected at least one, without commas in it (${at(place)})`);
      else values.set(name, { text, place: at(place) });
    }
  } catch (error) {
    faults.push(`${variable}: ${fileFault(file, error, at)}`);
  }
  return { values, faults };
}

const variable = 'FACEMATCH_CONFIG';

function fileFault(file: string, error: unknown, at: (place: Place) => string): string {
  if (error instanceof FlatJsonError) return `${at(error.place)}: ${error.message}`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  return `the file ${file} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}`;
}

/** Undefined for a list that has no form in the environment. */
function textOf(value: FlatValue): string | undefined {
  if (typeof value !== 'object') return String(value);
  const items = value.map(String);
  return items.length > 0 && items.every((item) => item !== '' && !item.includes(','))
    ? items.join(',')
    : undefined;
}

function unknown(name: string, known: readonly string[]): string {
  if (name === variable) return 'cannot be set in the file itself';
  const near = nearest(name, known);
  return `is not a setting${near === undefined ? '' : `; perhaps ${near}`}`;
}

/** The known name that takes the fewest edits, whatever the case and with or without the prefix. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const bare = (text: string) =>
    text
      .toUpperCase()
      .replaceAll('-', '_')
      .replace(/^FACEMATCH_/, '');
  const wanted = bare(name);
  const [best] = known
    .map((candidate) => ({ candidate, edits: editDistance(wanted, bare(candidate)) }))
    .sort((one, other) => one.edits - other.edits);
  // More would be a guess.
  return best !== undefined && best.edits <= Math.max(2, wanted.length / 3) ? best.candidate : undefined;
}

/** Levenshtein's: letters to insert, delete or replace. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + Number(one[i - 1] !== other[j - 1]);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[other.length]!;
}
