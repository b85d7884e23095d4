import { type Colours, printable } from '../terminal.ts';

/** What was seen of one thing. `unknown`: another finding says why nothing could be seen. */
export type Status = 'ok' | 'warning' | 'wrong' | 'unknown';

export interface Finding {
  /** What was looked at, such as "key file". */
  what: string;
  status: Status;
  /** What was seen, on one line. */
  value: string;
  /** What to do about it: a command where there is one. */
  cure?: string;
}

export const ok = (what: string, value: string): Finding => ({ what, status: 'ok', value });
export const unknown = (what: string, value: string): Finding => ({ what, status: 'unknown', value });
export const warning = (what: string, value: string, cure: string): Finding => ({
  what,
  status: 'warning',
  value,
  cure,
});
export const wrong = (what: string, value: string, cure: string): Finding => ({
  what,
  status: 'wrong',
  value,
  cure,
});

/**
 * Things of one kind that are looked at together, by the name that a finding has when the look itself breaks. A look loads
 * the packages that it needs: one that is missing becomes a line, and the other looks go on.
 */
export type Checks = Readonly<Record<string, () => Finding[] | Promise<Finding[]>>>;

/** All findings in order, each as soon as it and those before it are known. Never throws. */
export async function* examine(checks: Checks): AsyncGenerator<Finding> {
  const running = Object.entries(checks).map(async ([what, look]) => {
    try {
      return await look();
    } catch (error) {
      return [wrong(what, firstLine(error), 'npm ci && npm run setup')];
    }
  });
  for (const findings of running) yield* await findings;
}

/** `strict`: warnings count as well. */
export function verdictOf(findings: readonly Finding[], strict: boolean) {
  const count = (wanted: Status) => findings.filter(({ status }) => status === wanted).length;
  const counts = { wrong: count('wrong'), warning: count('warning') };
  return { ok: counts.wrong === 0 && (!strict || counts.warning === 0), ...counts };
}

/** One line: status, what, value, and the cure. */
export function describeFinding({ what, status, value, cure }: Finding, colours: Colours): string {
  const { green, yellow, red, dim, bold } = colours;
  const colour = { ok: green, warning: yellow, wrong: red, unknown: dim }[status];
  const marked = colour(status.padEnd('warning'.length));
  const cured = cure === undefined ? '' : `  ${bold('→')} ${printable(cure)}`;
  return `${marked}  ${what.padEnd('µWebSockets.js'.length)}  ${printable(value)}${cured}`;
}

/** Of a message of several lines the first, without what Node puts behind it. */
export function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /\S.*/.exec(message)?.[0].trim() ?? 'no reason was given';
}
