import { InvalidArgumentError, Option } from 'commander';
import { type MatchOptions, optionRules, parseOption, type ValueRule } from '../endpoints/options.ts';

/** The options of a match as flags of commands. Type, default and rule are the option's own. */
const flags = {
  accuracy_mode: ['--mode <mode>', 'accuracy mode'],
  threshold_percent: ['--threshold <percent>', 'confidence from which it is a match'],
  use_heuristic_fallback: ['--no-fallback', 'do not use the fallback where no face was found'],
  min_det_score: ['--min-det-score <score>', "least detection score; by default the pack's own"],
  detect_presentation_attack: [
    '--live-score',
    'also tell how likely each face is live; needs a pack with liveness nets',
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

/** What a command was given of these flags. */
export function givenOptions(values: object): Partial<MatchOptions> {
  const given: Record<string, unknown> = { ...values };
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given[matchFlag(name).attributeName()];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
