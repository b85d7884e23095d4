import { defaults } from '../engine/match-options.ts';
import { Problem, sentWords } from '../errors.ts';

/** The fields that endpoints take. Parsing, error texts, the OpenAPI document and the demo use them. */

export interface ImageRule {
  kind: 'image';
  /** It may be sent up to `maxTargets` times. */
  several?: true;
  description: string;
}
export interface NumberRule {
  kind: 'decimal' | 'integer';
  min: number;
  max: number;
  /** undefined: the model pack's default. */
  default: number | undefined;
  description: string;
}
export interface ChoiceRule {
  kind: 'choice';
  values: readonly string[];
  default: string;
  description: string;
}
export interface SwitchRule {
  kind: 'boolean';
  default: boolean;
  description: string;
}
export type ValueRule = NumberRule | ChoiceRule | SwitchRule;
export type FieldRule = ImageRule | ValueRule;
/** By name; images in the order in which they are checked. */
export type Fields = Readonly<Record<string, FieldRule>>;

/** The largest index of the addon's 32-bit integer; whether the image has so many faces is checked later. */
const mostIndex = 2 ** 31 - 1;

const image = (which: string): ImageRule => ({
  kind: 'image',
  description: `${which} picture: JPEG, PNG or WebP, recognised by content`,
});
const faceIndex = (description: string): NumberRule => ({
  kind: 'integer',
  min: -1,
  max: mostIndex,
  default: -1,
  description,
});

export const image1 = image('First');
export const image2 = image('Second');
/** Of endpoints that take one picture. */
export const onlyImage = image('The');

export const threshold_percent = {
  kind: 'decimal',
  min: 0,
  max: 100,
  default: defaults.threshold_percent,
  description: 'Least confidence_percent that counts as a match',
} satisfies NumberRule;

export const image1_face_index = faceIndex(
  'Which face of image1, counted from 0, largest first; -1 chooses automatically',
);
export const image2_face_index = faceIndex(
  'Which face of image2, counted from 0, largest first; -1 chooses automatically',
);
export const face_index = faceIndex(
  'Which face gets an embedding, counted from 0, largest first; -1 for all',
);

export const accuracy_mode: ChoiceRule = {
  kind: 'choice',
  values: ['fast', 'balance'],
  default: defaults.accuracy_mode,
  description: 'balance for accuracy, fast for lower latency',
};

/** How faces are looked for. */
export const look = {
  accuracy_mode,
  use_heuristic_fallback: {
    kind: 'boolean',
    default: defaults.use_heuristic_fallback,
    description: 'Whether to try further detection steps when no face was found',
  },
  min_det_score: {
    kind: 'decimal',
    min: 0,
    max: 1,
    default: undefined,
    description: "Least detection score of a face; by default the model pack's own",
  },
} as const satisfies Fields;

export const auto_pair_best: SwitchRule = {
  kind: 'boolean',
  default: defaults.auto_pair_best,
  description: 'Whether automatic choice takes the best pair of all faces, or the largest face of each image',
};

export const reject_low_quality: SwitchRule = {
  kind: 'boolean',
  default: defaults.reject_low_quality,
  description: 'Whether a poor face is refused (422 `low_quality_face`) instead of answered with a warning',
};

export const detect_presentation_attack: SwitchRule = {
  kind: 'boolean',
  default: defaults.detect_presentation_attack,
  description:
    'Whether each face gets a `live_score`; only with a model pack that has liveness nets. A hint, never a verdict alone',
};

export const reject_presentation_attack: SwitchRule = {
  kind: 'boolean',
  default: defaults.reject_presentation_attack,
  description:
    'Whether a face whose `live_score` is below `live_threshold` is refused (422 `presentation_attack`); includes `detect_presentation_attack`',
};

export const live_threshold: NumberRule = {
  kind: 'decimal',
  min: 0,
  max: 1,
  default: undefined,
  description:
    "Least `live_score` that `reject_presentation_attack` lets pass; by default the model pack's own",
};

/** Where faces can be refused as presentation attacks. */
export const attack = {
  detect_presentation_attack,
  reject_presentation_attack,
  live_threshold,
} as const satisfies Fields;

/** The rule of a field by its name; undefined when there is none. */
export function ruleOf(name: string, fields: Fields): FieldRule | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** The image fields, all required, in the order in which they are checked. */
export function imageFields(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => fields[name]!.kind === 'image');
}

/** The image field that may be sent more than once, if any. */
export function repeatedField(fields: Fields): string | undefined {
  return imageFields(fields).find((name) => (fields[name] as ImageRule).several);
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

/**
 * The grammar of numbers in text: JSON's (RFC 8259 section 6) without exponents and negative zero. Number() alone would accept "",
 * " 1", "1e2", "0x10" and "Infinity".
 */
const grammar = { decimal: /^(?:0|[1-9]\d*)(?:\.\d+)?$/, integer: /^(?:0|-?[1-9]\d*)$/ } as const;

/** Booleans as the languages of clients write them, in lower case. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

export type FieldValue = number | string | boolean;

/** A field as it comes: the text of a form, or a value of JSON, of which a list or an object is undefined. */
type SentValue = string | number | boolean | null | undefined;

/** A field's value; undefined where it was left empty, which means its default. Throws Problem invalid_field. */
export function readField(name: string, rule: ValueRule, sent: SentValue): FieldValue | undefined {
  if (sent === '' || sent === null) return undefined;
  const value = parseValue(rule, sent);
  if (value === undefined) throw invalidField(name, rule, sent);
  return value;
}

/** undefined for what the field does not take. */
function parseValue(rule: ValueRule, sent: SentValue): FieldValue | undefined {
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

export function invalidField(name: string, rule: ValueRule, sent: SentValue): Problem {
  const expected = expectation(rule);
  const detail = `Send ${expected} as ${name}, not ${sentWords(sent)}.`;
  return new Problem('invalid_field', { detail, field: name, expected });
}
