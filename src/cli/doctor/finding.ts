import { repair } from '../../config/installation.mjs';
import { type Colours, printable } from '../terminal.ts';

/** The result of a check. `unknown`: the check could not run, usually because of another finding. */
export type Status = 'ok' | 'warning' | 'fail' | 'unknown';

export interface Finding {
  /** Subject of the check, such as "key file". */
  what: string;
  status: Status;
  /** The result, on one line. */
  value: string;
  /** How to fix the problem: a command if there is one. */
  fix?: string;
}

const good = (status: Status) => (what: string, value: string) => ({ what, status, value });
const bad = (status: Status) => (what: string, value: string, fix: string) => ({
  what,
  status,
  value,
  fix,
});
export const ok = good('ok');
export const unknown = good('unknown');
export const warning = bad('warning');
export const fail = bad('fail');

/**
 * Checks by name. If a check throws, for example because a package is missing, its finding is `fail`, and the
 * other checks continue.
 */
export type Checks = Readonly<Record<string, () => Finding[] | Promise<Finding[]>>>;

/** Runs all checks at once, and yields their findings in order. Never throws. */
export async function* examine(checks: Checks): AsyncGenerator<Finding> {
  const running = Object.entries(checks).map(async ([what, check]) => {
    try {
      return await check();
    } catch (error) {
      return [fail(what, firstLine(error), repair('packages'))];
    }
  });
  for (const findings of running) yield* await findings;
}

/** `strict`: a warning also makes `ok` false. */
export function verdictOf(findings: readonly Finding[], strict: boolean) {
  const count = (wanted: Status) => findings.filter(({ status }) => status === wanted).length;
  const counts = { fail: count('fail'), warning: count('warning') };
  return { ok: counts.fail === 0 && (!strict || counts.warning === 0), ...counts };
}

/** Returns one line: status, subject, value and fix. */
export function describeFinding({ what, status, value, fix }: Finding, colours: Colours): string {
  const { green, yellow, red, dim, bold } = colours;
  const colour = { ok: green, warning: yellow, fail: red, unknown: dim }[status];
  const marked = colour(status.padEnd('warning'.length));
  const advice = fix === undefined ? '' : `  ${bold('→')} ${printable(fix)}`;
  return `${marked}  ${what.padEnd('µWebSockets.js'.length)}  ${printable(value)}${advice}`;
}

/** Returns the first non-empty line of a message. */
export function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /\S.*/.exec(message)?.[0].trim() ?? 'no reason was given';
}
