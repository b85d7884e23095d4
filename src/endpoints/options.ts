import type { EndpointId } from '../config/config.ts';
import { type AnalyseOptions, accuracyModes } from '../engine/addon.ts';
import { describeSent } from '../engine/client-input.ts';
import type { Manifest } from '../engine/manifest.ts';
import { Problem } from '../errors.ts';

/**
 * The options of requests. Each is an entry of `optionRules`, from which types, forms, JSON, the API documents,
 * the demo page and the command line are derived.
 */

export interface NumberRule {
  kind: 'decimal' | 'integer';
  min: number;
  max: number;
  /** Undefined if the model pack defines the default. */
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

/** Members of a pack on which options depend. */
export type PackDefaults = Pick<Manifest, 'min_det_score' | 'liveness'>;

type OptionRule = ValueRule & {
  endpoints: readonly EndpointId[];
  /** Reads the default from the pack, if the pack defines it. */
  ofPack?: (pack: PackDefaults) => number;
  /** True if it changes the analysis of an image; it is then passed to the workers. */
  analysis?: true;
  /** True if it concerns liveness. If the pack has no liveness models, such a boolean option must be false. */
  liveness?: true;
};

/** Maximum number of target images in one request. */
export const maxTargets = 16;

const anyImage = ['match_advanced', 'match_many', 'match_person', 'match_live', 'detect', 'embed'] as const;
const rejecting = ['match_advanced', 'match_many', 'match_person', 'match_live', 'embed'] as const;

/** The maximum is that of a 32-bit integer. After the analysis, the index is compared with the number of faces. */
const faceIndex = { kind: 'integer', min: -1, max: 2 ** 31 - 1, default: -1 } as const;

/** The options, in the order in which documents list them. */
export const optionRules = {
  threshold_percent: {
    kind: 'decimal',
    min: 0,
    max: 100,
    default: 70,
    description: 'Minimum `confidence_percent` of a match',
    endpoints: ['match', 'match_advanced', 'match_many', 'match_person', 'match_live'],
  },
  min_agreement_percent: {
    kind: 'decimal',
    min: 0,
    max: 100,
    default: 40,
    description:
      'Minimum `confidence_percent` of each photo compared with the mean of the other photos on its side. Requests with a photo below it are rejected (422 `photos_disagree`). 0 rejects none',
    endpoints: ['match_person', 'match_live'],
  },
  image1_face_index: {
    ...faceIndex,
    description: 'Index of the face of image1 to compare; 0 is the largest, -1 selects automatically',
    endpoints: ['match_advanced', 'match_many'],
  },
  image2_face_index: {
    ...faceIndex,
    description: 'Index of the face of image2 to compare; 0 is the largest, -1 selects automatically',
    endpoints: ['match_advanced'],
  },
  face_index: {
    ...faceIndex,
    description: 'Index of the face to embed; 0 is the largest, -1 embeds all',
    endpoints: ['embed'],
  },
  accuracy_mode: {
    kind: 'choice',
    values: accuracyModes,
    default: 'balance',
    description: '`balance` for accuracy, `fast` for lower latency',
    endpoints: anyImage,
    analysis: true,
  },
  use_heuristic_fallback: {
    kind: 'boolean',
    default: true,
    description:
      'Run additional detection passes for small and rotated faces. If no face was found, also search for dark, printed and cropped faces. This takes longer',
    endpoints: anyImage,
    analysis: true,
  },
  min_det_score: {
    kind: 'decimal',
    min: 0,
    max: 1,
    default: undefined,
    ofPack: ({ min_det_score }) => min_det_score,
    description: 'Minimum detection score of a face; the default depends on the model pack',
    endpoints: anyImage,
    analysis: true,
  },
  auto_pair_best: {
    kind: 'boolean',
    default: true,
    description:
      'Automatic selection: `true` compares all faces and returns the best pair, `false` compares the largest face of each image',
    endpoints: ['match_advanced', 'match_many'],
  },
  reject_low_quality: {
    kind: 'boolean',
    default: false,
    description: 'Reject low-quality faces (422 `low_quality_face`) instead of returning a warning',
    endpoints: rejecting,
  },
  detect_presentation_attack: {
    kind: 'boolean',
    default: false,
    description:
      'Return a `live_score` for each face; requires a model pack with liveness models. Never decide on this score alone',
    endpoints: anyImage,
    analysis: true,
    liveness: true,
  },
  reject_presentation_attack: {
    kind: 'boolean',
    default: false,
    description:
      'Reject faces whose `live_score` is below `live_threshold` (422 `presentation_attack`); includes `detect_presentation_attack`',
    endpoints: rejecting,
    liveness: true,
  },
  live_threshold: {
    kind: 'decimal',
    min: 0,
    max: 1,
    default: undefined,
    ofPack: ({ liveness }) => liveness?.live_threshold ?? 0.5,
    description:
      'Minimum `live_score` that passes `reject_presentation_attack`; the default depends on the model pack',
    endpoints: rejecting,
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

/** Default values, except those that the pack defines. */
export const defaults = Object.fromEntries(
  optionEntries.flatMap(([name, rule]) => (rule.ofPack ? [] : [[name, rule.default]])),
) as Omit<MatchOptions, NamesWith<'ofPack'>>;

const ofPack = optionEntries.flatMap(([name, rule]) => (rule.ofPack ? [[name, rule.ofPack] as const] : []));
const analysis = optionEntries.flatMap(([name, rule]) => (rule.analysis ? [name] : []));
/** Options that require a pack with liveness models. */
const livenessOptions = optionEntries.flatMap(([name, { liveness, kind }]) =>
  liveness && kind === 'boolean' ? [name] : [],
);

/** Fills in the defaults. Throws Problem invalid_field if the pack does not support an option. */
export function completeOptions(given: Partial<MatchOptions>, pack: PackDefaults): MatchOptions {
  const own = Object.fromEntries(ofPack.map(([name, read]) => [name, read(pack)]));
  const options = { ...defaults, ...own, ...given } as MatchOptions;
  const field = livenessOptions.find((name) => options[name]);
  if (field !== undefined && pack.liveness === undefined) {
    throw new Problem('invalid_field', {
      detail: `Send false as ${field}, or omit it: the model pack of this server has no liveness models.`,
      field,
      expected: 'false, because the model pack has no liveness models',
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

/** Returns the text after "Send" in messages, which is also the member `expected`. */
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

/**
 * Numbers in text follow JSON (RFC 8259 section 6), without exponents, -0 and negative decimals. Number() would
 * accept "", " 1" and "0x10".
 */
const grammar = { decimal: /^(?:0|[1-9]\d*)(?:\.\d+)?$/, integer: /^(?:0|-?[1-9]\d*)$/ } as const;

/** Accepted spellings of booleans, in lower case. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

export type OptionValue = number | string | boolean;

/** A received option: the text of a form field, or a JSON value (undefined for an array or an object). */
type SentValue = OptionValue | null | undefined;

/** Returns the value, or undefined for an empty value, which selects the default. Throws Problem invalid_field. */
export function readOption(name: string, rule: ValueRule, sent: SentValue): OptionValue | undefined {
  if (sent === '' || sent === null) return undefined;
  const value = parseOption(rule, sent);
  if (value === undefined) throw invalidOption(name, rule, sent);
  return value;
}

/** Returns the parsed value, or undefined if it is invalid. */
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
  const detail = `Send ${expected} as ${name}, not ${describeSent(sent)}.`;
  return new Problem('invalid_field', { detail, field: name, expected });
}
