/** Columns of `people.tsv` whose values make a group: one column, or several crossed. */
export type Grouping = readonly string[];

/** Reads groupings such as `origin*sex,age`. Throws an Error with a message for people. */
export function parseGroupings(text: string): Grouping[] {
  const groupings = text.split(',').map((one) => one.split('*').map((column) => column.trim()));
  const isSound = (columns: Grouping) => !columns.includes('') && new Set(columns).size === columns.length;
  if (!groupings.every(isSound)) {
    throw new Error(
      'Expected columns of people.tsv, crossed with * and separated by commas, such as origin*sex,age.',
    );
  }
  return groupings;
}

/** As it is written in options and tables. */
export function groupingText(grouping: Grouping): string {
  return grouping.join(' × ');
}

/** The group of an image, such as "origin Indian × sex Female". */
export function groupLabel(grouping: Grouping, cellOf: (column: string) => string): string {
  return grouping.map((column) => `${column} ${cellOf(column)}`).join(' × ');
}
