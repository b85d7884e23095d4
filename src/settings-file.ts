import { readFileSync } from 'node:fs';
import { closestMatch } from 'leven';
import { type FlatEntry, FlatJsonError, parseFlatJson } from './flat-json.ts';

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
  try {
    for (const { name, value, place } of parseFlatJson(readFileSync(file, 'utf8'))) {
      const text = textOf(value);
      const where = `${file}, ${place}`;
      if (!known.includes(name)) faults.push(`${name}: ${unknown(name, known)} (${where})`);
      else if (values.has(name)) faults.push(`${name}: stands there twice (${where})`);
      else if (text === undefined)
        faults.push(`${name}: expected at least one, without commas in it (${where})`);
      else values.set(name, { text, place: where });
    }
  } catch (error) {
    faults.push(`${variable}: ${fileFault(file, error)}`);
  }
  return { values, faults };
}

const variable = 'FACEMATCH_CONFIG';

function fileFault(file: string, error: unknown): string {
  if (error instanceof FlatJsonError) return `${file}, ${error.message}`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  return `the file ${file} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}`;
}

/** Undefined for a list that has no form in the environment. */
function textOf(value: FlatEntry['value']): string | undefined {
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
  // More edits would be a guess.
  const maxDistance = Math.max(2, Math.floor(wanted.length / 3));
  const best = closestMatch(wanted, known.map(bare), { maxDistance });
  return known.find((candidate) => bare(candidate) === best);
}
