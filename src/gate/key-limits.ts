/** Bounds of what an operator may choose for a key; apart from the schema, so that `--help` need not load zod. */
export const keyLimits = {
  /** Characters. */
  name: 100,
  note: 500,
  /** A million a second is more than any server of this kind gives, and keeps the headers' integers short. */
  rate: 1_000_000,
  burst: 1_000_000,
} as const;

/** Control characters would let a name rewrite the terminal that lists it. */
export function isLine(text: string): boolean {
  return /^\P{Cc}*$/u.test(text);
}
