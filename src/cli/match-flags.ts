import { InvalidArgumentError, Option } from 'commander';
import { type MatchOptions, optionRules, parseOption, type ValueRule } from '../endpoints/options.ts';

/** Command-line flags of the request options. Types, defaults and rules come from the options table. */
const flags = {
  accuracy_mode: ['--mode <mode>', 'accuracy mode'],
  threshold_percent: ['--threshold <percent>', 'minimum confidence_percent of a match'],
  use_heuristic_fallback: [
    '--no-fallback',
    'skip the extra detection passes (faster; finds fewer small and rotated faces)',
  ],
  min_det_score: ['--min-det-score <score>', 'minimum detection score; the default depends on the pack'],
  detect_presentation_attack: [
    '--live-score',
    'also print a live score for each face; requires a pack with liveness models',
  ],
} as const satisfies Partial<Record<keyof MatchOptions, readonly [flags: string, description: string]>>;

type FlagName = keyof typeof flags;
const names = Object.keys(flags) as FlagName[];

export function matchFlag(name: FlagName): Option {
  const rule: ValueRule = optionRules[name];
  const [flag, description] = flags[name];
  const option = new Option(flag, description);
  if (rule.kind === 'boolean') return option;
  if (rule.kind === 'choice') return option.choices(rule.values).default(rule.default);
  option.argParser((text) => {
    const value = parseOption(rule, text);
    if (value === undefined)
      throw new InvalidArgumentError(`Expected a number from ${rule.min} to ${rule.max}.`);
    return value;
  });
  return rule.default === undefined ? option : option.default(rule.default);
}

/** Returns the request options among the values of a command, given or by default. */
export function givenOptions(values: object): Partial<MatchOptions> {
  const given: Record<string, unknown> = { ...values };
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given[matchFlag(name).attributeName()];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
