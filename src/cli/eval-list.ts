import { printable } from './terminal.ts';

/** The first of some names, after a colon; nothing for no names. */
export function list(names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 10).map(printable).join(', ');
  return `: ${shown}${names.length > 10 ? ', …' : ''}`;
}
