import { type Colours, printable } from '../terminal.ts';
import type { Verdict } from './examine.ts';
import type { Finding, Status } from './finding.ts';

const widths = { status: 'warning'.length, what: 'µWebSockets.js'.length };

const colourOf: Readonly<Record<Status, (colours: Colours) => (text: string) => string>> = {
  ok: ({ green }) => green,
  warning: ({ yellow }) => yellow,
  wrong: ({ red }) => red,
  unknown: ({ dim }) => dim,
};

/** One line: status, what, value, and the cure. */
export function describeFinding({ what, status, value, cure }: Finding, colours: Colours): string {
  const marked = colourOf[status](colours)(status.padEnd(widths.status));
  const cured = cure === undefined ? '' : `  ${colours.bold('→')} ${printable(cure)}`;
  return `${marked}  ${what.padEnd(widths.what)}  ${printable(value)}${cured}`;
}

export function describeVerdict({ counts: { wrong, warning } }: Verdict): string {
  if (wrong + warning === 0) return 'All is well.';
  return `${wrong} wrong, ${warning} warning${warning === 1 ? '' : 's'}.`;
}
