import { differentialTables, type TextTable } from '../lab/differential-tables.ts';
import type { PeopleFigures } from '../lab/evaluate.ts';
import { countText } from '../lab/number-text.ts';
import { list } from './eval-list.ts';
import { printable } from './terminal.ts';

/** Error rates of labelled people by group, as text for the terminal. */
export function describePeople(figures: PeopleFigures, cohort: string): string {
  const { set, mode, everybody, groupings, same_person_above, without_face, failures } = figures;
  const failed = Object.entries(failures).map(([name, reason]) => `${name} (${reason})`);
  const tables = groupings.length > 0 ? groupings : [undefined];
  return [
    `${set}: ${countText(everybody.people)} people, ${countText(everybody.pictures)} pictures; mode ${mode}`,
    `cohort             ${cohort}`,
    `without a face     ${countText(without_face.length)} of ${countText(everybody.pictures)} pictures${list(without_face)}`,
    ...(failed.length > 0 ? [`could not be read  ${failed.length}${list(failed)}`] : []),
    ...(same_person_above === undefined
      ? []
      : [`one person         pictures of two people with a cosine above ${same_person_above} are left out`]),
    ...tables.flatMap((grouping) => differentialTables(figures, grouping).flatMap(describeTable)),
  ].join('\n');
}

/** In columns, as wide as needed. */
function describeTable({ title, head, rows }: TextTable): string[] {
  const cells = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '));
  return [title, ...lines.map((line) => `  ${line.trimEnd()}`)];
}
