import { InvalidArgumentError } from 'commander';
import { isLine, keyLimits, type Scope, scopes } from '../auth/keys.ts';

/**
 * Parsers of the options of the key commands. Each throws InvalidArgumentError; commander adds the option's name and the text
 * in front of its message.
 */

const units = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const;
const longestDays = 36_500;

export function parseName(text: string): string {
  return parseLine(text, 1, keyLimits.name);
}

export function parseNote(text: string): string {
  return parseLine(text, 1, keyLimits.note);
}

export function parseScopes(text: string): Scope[] {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (!isScope(name)) throw new InvalidArgumentError(`Expected one or more of ${scopes.join(',')}.`);
  }
  // In the table's order, each once.
  return scopes.filter((scope) => names.includes(scope));
}

export function parseRate(text: string): number {
  const rate = /^\d{1,7}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (rate > 0 && rate <= keyLimits.rate) return rate;
  throw new InvalidArgumentError(`Expected requests per second, above 0 and at most ${keyLimits.rate}.`);
}

export function parseBurst(text: string): number {
  return parseCount(text, keyLimits.burst);
}

export function parseConcurrent(text: string): number {
  return parseCount(text, keyLimits.concurrent);
}

/** `90d` → milliseconds. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,12})([smhdw])$/.exec(text) ?? [];
  const seconds = Number(count) * units[unit as keyof typeof units];
  if (seconds > 0 && seconds <= longestDays * units.d) return seconds * 1000;
  throw new InvalidArgumentError(
    'Expected a number and a unit (s, m, h, d or w), at most 100 years: 1h, 90d, 52w.',
  );
}

function parseCount(text: string, most: number): number {
  const count = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= 1 && count <= most) return count;
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${most}.`);
}

function isScope(name: string): name is Scope {
  return (scopes as readonly string[]).includes(name);
}

function parseLine(text: string, least: number, most: number): string {
  const line = text.trim();
  if (line.length >= least && line.length <= most && isLine(line)) return line;
  throw new InvalidArgumentError(`Expected ${least} to ${most} characters on one line.`);
}
