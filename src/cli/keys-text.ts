import type { KeyRecord, KeyStatus } from '../gate/key-record.ts';

/** A key as it may be shown: all but the hash of its secret. */
export type ShownKey = Omit<KeyRecord, 'sha256'> & { status: KeyStatus };

const columns = [
  'id',
  'name',
  'status',
  'scopes',
  'rate',
  'burst',
  'created_at',
  'expires_at',
  'revoked_at',
  'note',
] as const satisfies readonly (keyof ShownKey)[];

/** Columns that no key uses are left out. */
export function keyTable(rows: readonly ShownKey[]): string {
  if (rows.length === 0) return 'There are no keys.';
  const cells = rows.map((row) => columns.map((column) => String(row[column] ?? '')));
  const used = columns.map((_, at) => at).filter((at) => cells.some((row) => row[at] !== ''));
  const widths = columns.map((title, at) => Math.max(title.length, ...cells.map((row) => row[at]!.length)));
  const line = (row: readonly string[]) =>
    used
      .map((at) => row[at]!.padEnd(widths[at]!))
      .join('  ')
      .trimEnd();
  return [line(columns), ...cells.map(line)].join('\n');
}

export function describeKey({ id, name }: Pick<KeyRecord, 'id' | 'name'>): string {
  return `${id} ("${name}")`;
}
