import type { Warning } from '../face/answers.ts';

/**
 * Warnings of the fields that stand in a query, where they count for nothing: an option that was meant to be strict must not vanish
 * in silence. `known`: the names of fields.
 */
export function ignoredQuery(query: string, known: readonly string[]): Warning[] {
  if (query === '') return [];
  const sent = new Set(new URLSearchParams(query).keys());
  return known
    .filter((field) => sent.has(field))
    .map((field) => ({
      code: 'query_ignored',
      field,
      detail: `${field} stands in the query of the address, where it counts for nothing. Send it in the body, as the pictures are.`,
    }));
}
