import type { Warning } from '../scoring/answers.ts';

/** A name without the style of a language, such as thresholdPercent or Threshold-Percent. */
const unstyled = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '');

/**
 * Warnings of the fields that stand in a query, where they count for nothing: an option that was meant to be strict must not vanish
 * in silence, however its name is written. `known`: the names of fields.
 */
export function ignoredQuery(query: string, known: readonly string[]): Warning[] {
  if (query === '') return [];
  const sent = new Set(Array.from(new URLSearchParams(query).keys(), unstyled));
  return known
    .filter((field) => sent.has(unstyled(field)))
    .map((field) => ({
      code: 'query_ignored',
      field,
      detail: `${field} stands in the query of the address, where it counts for nothing. Send it in the body, as the pictures are.`,
    }));
}
