import { isIP } from 'node:net';

/** Kinds of settings. Each parses the text of a variable. */

export interface Setting<T> {
  /** Converts the text of the variable; returns undefined if it does not have the expected form. */
  parse(text: string): T | undefined;
  /** Completes "expected …". */
  expected: string;
  /** Returns the default, which may depend on settings that come earlier in the table. */
  fallback: (config: Readonly<Record<string, unknown>>) => T;
  description: string;
  /**
   * Returns the value without its secret; absent if values have no secret. If it is defined, text that cannot be
   * parsed is never shown, because it may contain the secret.
   */
  shown?(value: T): string;
}

export function text(fallback: string, description: string): Setting<string> {
  return {
    parse: (value) => (value.trim() === value && !value.includes('\0') ? value : undefined),
    expected: 'text without leading or trailing spaces',
    fallback: () => fallback,
    description,
  };
}

export function address(fallback: string, description: string): Setting<string> {
  return {
    parse: (value) => (isIP(value) !== 0 || /^[\w.-]{1,253}$/.test(value) ? value : undefined),
    expected: 'an IP address without brackets, such as 127.0.0.1 or ::1, or a host name; without a port',
    fallback: () => fallback,
    description,
  };
}

export function integer(
  min: number,
  max: number,
  fallback: number | ((config: Readonly<Record<string, unknown>>) => number),
  description: string,
): Setting<number> {
  return {
    // Digits only: Number() would accept "", " 1", "1e3" and "0x10" as well.
    parse: (value) => {
      if (!/^\d{1,16}$/.test(value)) return undefined;
      const number = Number(value);
      return number >= min && number <= max ? number : undefined;
    },
    expected: `a whole number from ${min} to ${max}`,
    fallback: typeof fallback === 'number' ? () => fallback : fallback,
    description,
  };
}

export function choice<const T extends string>(
  values: readonly T[],
  fallback: T,
  description: string,
): Setting<T> {
  return {
    parse: (value) => values.find((candidate) => candidate === value),
    expected: `one of ${values.join(', ')}`,
    fallback: () => fallback,
    description,
  };
}

export function list(
  valid: (item: string) => boolean,
  expected: string,
  fallback: readonly string[],
  description: string,
): Setting<readonly string[]> {
  return {
    parse: (value) => {
      const items = value.split(',').map((item) => item.trim());
      return items.every(valid) ? Object.freeze([...new Set(items)]) : undefined;
    },
    expected,
    fallback: () => fallback,
    description,
  };
}
