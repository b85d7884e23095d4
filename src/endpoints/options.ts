import type { EndpointId } from '../config/config.ts';
import { type AnalyseOptions, accuracyModes } from '../engine/addon.ts';
import type { Manifest } from '../engine/manifest.ts';
import { sentWords } from '../engine/sent-words.ts';
import { Problem } from '../errors.ts';

/**
 * What a caller may choose. A field of the endpoints is a line of `optionRules`, from which types, forms, JSON, documents, the demo and the
 * command line follow.
 */

export interface NumberRule {
  kind: 'decimal' | 'integer';
  min: number;
  max: number;
  /** undefined stands for the model pack's own. */
  default: number | undefined;
  description: string;
}
export interface ChoiceRule {
  kind: 'choice';
  values: readonly string[];
  default: string;
  description: string;
}
interface SwitchRule {
  kind: 'boolean';
  default: boolean;
  description: string;
}
export type ValueRule = NumberRule | ChoiceRule | SwitchRule;

/** What the options depend on in a pack. */
export type PackDefaults = Pick<Manifest, 'min_det_score' | 'liveness'>;

type OptionRule = ValueRule & {
  endpoints: readonly EndpointId[];
  /** The default, where it is the pack's own. */
  ofPack?: (pack: PackDefaults) => number;
  /** It changes what is found in an image, so the workers are told. */
  analysis?: true;
  /** It only has a meaning with a pack that has liveness nets. */
  liveness?: true;
};

/** An image is compared with at most so many at once. */
export const maxTargets = 16;

const anyImage = ['match_advanced', 'match_many', 'match_person', 'match_live', 'detect', 'embed'] as const;
const refusing = ['match_advanced', 'match_many', 'match_person', 'match_live', 'embed'] as const;

/** The largest index of the addon's 32-bit integer; whether the image has so many faces is checked later. */
const faceIndex = { kind: 'integer', min: -1, max: 2 ** 31 - 1, default: -1 } as const;

/** The options, in the order in which documents list them. */
export const optionRules = {
  threshold_percent: {
    kind: 'decimal',
    min: 0,
    max: 100,
    default: 70,
    description: 'The answer is a match from this confidence_percent on',
    endpoints: ['match', 'match_advanced', 'match_many', 'match_person', 'match_live'],
  },
  min_agreement_percent: {
    kind: 'decimal',
    min: 0,
    max: 100,
    default: 40,
    description:
      'Photos of one side are refused (422 `photos_disagree`) when one has a lower percent with the mean of the others of its side; 0 refuses none',
    endpoints: ['match_person', 'match_live'],
  },
  image1_face_index: {
    ...faceIndex,
    description: 'Which face of image1, counted from 0, largest first; -1 chooses automatically',
    endpoints: ['match_advanced', 'match_many'],
  },
  image2_face_index: {
    ...faceIndex,
    description: 'Which face of image2, counted from 0, largest first; -1 chooses automatically',
    endpoints: ['match_advanced'],
  },
  face_index: {
    ...faceIndex,
    description: 'Which face gets an embedding, counted from 0, largest first; -1 for all',
    endpoints: ['embed'],
  },
  accuracy_mode: {
    kind: 'choice',
    values: accuracyModes,
    default: 'balance',
    description: 'balance for accuracy, fast for lower latency',
    endpoints: anyImage,
    analysis: true,
  },
  use_heuristic_fallback: {
    kind: 'boolean',
    default: true,
    description: 'Whether to try further detection steps when no face was found',
    endpoints: anyImage,
    analysis: true,
  },
  min_det_score: {
    kind: 'decimal',
    min: 0,
    max: 1,
    default: undefined,
    ofPack: ({ min_det_score }) => min_det_score,
    description: "Least detection score of a face; by default the model pack's own",
    endpoints: anyImage,
    analysis: true,
  },
  auto_pair_best: {
    kind: 'boolean',
    default: true,
    description:
      'Whether automatic choice takes the best pair of all faces, or the largest face of each image',
    endpoints: ['match_advanced', 'match_many'],
  },
  reject_low_quality: {
    kind: 'boolean',
    default: false,
    description: 'Whether a poor face is refused (422 `low_quality_face`) instead of answered with a warning',
    endpoints: refusing,
  },
  detect_presentation_attack: {
    kind: 'boolean',
    default: false,
    description:
      'Whether each face gets a `live_score`; only with a model pack that has liveness nets. A hint, never a verdict alone',
    endpoints: anyImage,
    analysis: true,
    liveness: true,
  },
  reject_presentation_attack: {
    kind: 'boolean',
    default: false,
    description:
      'Whether a face whose `live_score` is below `live_threshold` is refused (422 `presentation_attack`); includes `detect_presentation_attack`',
    endpoints: refusing,
    liveness: true,
  },
  live_threshold: {
    kind: 'decimal',
    min: 0,
    max: 1,
    default: undefined,
    ofPack: ({ liveness }) => liveness?.live_threshold ?? 0.5,
    description:
      "Least `live_score` that `reject_presentation_attack` lets pass; by default the model pack's own",
    endpoints: refusing,
    liveness: true,
  },
} as const satisfies Record<string, OptionRule>;

type Rules = typeof optionRules;
type OptionName = keyof Rules;
type ValueOf<Rule> = Rule extends { values: readonly (infer Word)[] }
  ? Word
  : Rule extends { kind: 'boolean' }
    ? boolean
    : number;
export type MatchOptions = { [Name in OptionName]: ValueOf<Rules[Name]> };
type NamesWith<Member extends string> = {
  [Name in OptionName]: Rules[Name] extends Record<Member, unknown> ? Name : never;
}[OptionName];

export const optionEntries = Object.entries<OptionRule>(optionRules) as readonly (readonly [
  OptionName,
  OptionRule,
])[];

/** What is chosen unless the caller says otherwise, but for what is the pack's own. */
export const defaults = Object.fromEntries(
  optionEntries.flatMap(([name, rule]) => (rule.ofPack ? [] : [[name, rule.default]])),
) as Omit<MatchOptions, NamesWith<'ofPack'>>;

const ofPack = optionEntries.flatMap(([name, rule]) => (rule.ofPack ? [[name, rule.ofPack] as const] : []));
const analysis = optionEntries.flatMap(([name, rule]) => (rule.analysis ? [name] : []));
/** Asked of a pack without liveness nets, these are refused. */
const needingNets = optionEntries.flatMap(([name, { liveness, kind }]) =>
  liveness && kind === 'boolean' ? [name] : [],
);

/** All options, where a caller has given some. Throws Problem invalid_field when the pack cannot do what was asked. */
export function completeOptions(given: Partial<MatchOptions>, pack: PackDefaults): MatchOptions {
  const own = Object.fromEntries(ofPack.map(([name, read]) => [name, read(pack)]));
  const options = { ...defaults, ...own, ...given } as MatchOptions;
  const field = needingNets.find((name) => options[name]);
  if (field !== undefined && pack.liveness === undefined) {
    throw new Problem('invalid_field', {
      detail: `Send false as ${field}, or leave it out: the model pack of this server has no liveness nets.`,
      field,
      expected: 'false, because the model pack has no liveness nets',
    });
  }
  options.detect_presentation_attack = field !== undefined;
  return options;
}

export function analysisOptions(
  options: MatchOptions,
): Required<Pick<AnalyseOptions, NamesWith<'analysis'>>> {
  return Object.fromEntries(analysis.map((name) => [name, options[name]])) as ReturnType<
    typeof analysisOptions
  >;
}

/** Completes "expected …", for people and programs. */
export function expectation(rule: ValueRule): string {
  switch (rule.kind) {
    case 'decimal':
      return `a decimal number from ${rule.min} to ${rule.max}, such as ${(rule.min + rule.max) / 2}`;
    case 'integer':
      return `an integer from ${rule.min} to ${rule.max}`;
    case 'boolean':
      return 'one of true, false';
    case 'choice':
      return `one of ${rule.values.join(', ')}`;
  }
}

/** Numbers in text are JSON's (RFC 8259 section 6) without exponents and -0; Number() would take "", " 1" and "0x10". */
const grammar = { decimal: /^(?:0|[1-9]\d*)(?:\.\d+)?$/, integer: /^(?:0|-?[1-9]\d*)$/ } as const;

/** Booleans as the languages of clients write them, in lower case. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

export type OptionValue = number | string | boolean;

/** An option as it comes: the text of a form, or a value of JSON, of which a list or an object is undefined. */
type SentValue = OptionValue | null | undefined;

/** Its value; undefined where it was left empty, which means its default. Throws Problem invalid_field. */
export function readOption(name: string, rule: ValueRule, sent: SentValue): OptionValue | undefined {
  if (sent === '' || sent === null) return undefined;
  const value = parseOption(rule, sent);
  if (value === undefined) throw invalidOption(name, rule, sent);
  return value;
}

/** The value that was sent; undefined for what the option does not take. */
export function parseOption(rule: ValueRule, sent: SentValue): OptionValue | undefined {
  switch (rule.kind) {
    case 'choice':
      return rule.values.find((word) => word === sent);
    case 'boolean':
      return booleans.get(String(sent).toLowerCase());
    default: {
      const value = typeof sent === 'string' && grammar[rule.kind].test(sent) ? Number(sent) : sent;
      if (typeof value !== 'number' || (rule.kind === 'integer' && !Number.isInteger(value)))
        return undefined;
      return value >= rule.min && value <= rule.max ? value : undefined;
    }
  }
}

export function invalidOption(name: string, rule: ValueRule, sent: SentValue): Problem {
  const expected = expectation(rule);
  const detail = `Send ${expected} as ${name}, not ${sentWords(sent)}.`;
  return new Problem('invalid_field', { detail, field: name, expected });
}

/** What is said of a compared face that is not the largest one of its image, to people who do not write requests. */
export function largestWords(image: string): string {
  return (
    `The face compared in ${image} is not the largest one there: make sure that it is the person you mean, ` +
    'and not somebody behind them or on an image that they hold.'
  );
}
