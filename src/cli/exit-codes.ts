/** What every command ends with. A command that a signal ended has 128 + its number from the shell, as any program. */
export const exitCodes = { success: 0, failure: 1, usage: 2 } as const;

/** In words, for help and docs. */
export const exitCodeWords: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.success, 'success'],
  [exitCodes.failure, 'failure'],
  [exitCodes.usage, 'wrong usage'],
];
