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

/** Things of one kind that are looked at together, by code that may not even load. */
export interface Check {
  /** Names the finding when the check itself breaks. */
  what: string;
  look(): Promise<Finding[]>;
  /** For when the check itself breaks. */
  cure: string;
}

export function ok(what: string, value: string): Finding {
  return { what, status: 'ok', value };
}

export function warning(what: string, value: string, cure: string): Finding {
  return { what, status: 'warning', value, cure };
}

export function wrong(what: string, value: string, cure: string): Finding {
  return { what, status: 'wrong', value, cure };
}

export function unknown(what: string, value: string): Finding {
  return { what, status: 'unknown', value };
}

/** Of a message of several lines the first, without what Node puts behind it. */
export function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (
    message
      .split('\n')
      .map((line) => line.trim())
      .find((line) => line !== '') ?? 'no reason was given'
  );
}
