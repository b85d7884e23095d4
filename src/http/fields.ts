import type { EndpointId } from '../config.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import { Problem } from '../errors.ts';

/** The table of form fields. Parsing, error texts, the OpenAPI document and tests use it. */

/** The endpoints that take a form. */
export type FormEndpoint = Extract<
  EndpointId,
  'match' | 'match_advanced' | 'match_many' | 'detect' | 'embed'
>;

interface Rule {
  endpoints: readonly FormEndpoint[];
  description: string;
}
export interface ImageRule extends Rule {
  kind: 'image';
  /** The endpoints that take it up to `mostTargets` times. */
  repeatedBy?: readonly FormEndpoint[];
}
export interface NumberRule extends Rule {
  kind: 'decimal' | 'integer';
  min: number;
  max: number;
  /** undefined: the model pack's default. */
  default: number | undefined;
}
export interface ChoiceRule extends Rule {
  kind: 'choice' | 'boolean';
  values: readonly string[];
  default: string;
}
export type FieldRule = ImageRule | NumberRule | ChoiceRule;

/** Most images that one image is compared with in a request. */
export const mostTargets = 16;

const all = ['match', 'match_advanced', 'match_many'] as const;
const advanced = ['match_advanced', 'match_many'] as const;
const single = ['detect', 'embed'] as const;

/** The largest index of the addon's 32-bit integer; whether the image has so many faces is checked later. */
const mostIndex = 2 ** 31 - 1;

export const fieldTable = {
  image1: {
    kind: 'image',
    endpoints: all,
    description: 'First picture: JPEG, PNG or WebP, recognised by content',
  },
  image2: {
    kind: 'image',
    endpoints: all,
    repeatedBy: ['match_many'],
    description: 'Second picture: JPEG, PNG or WebP, recognised by content',
  },
  image: {
    kind: 'image',
    endpoints: single,
    description: 'The picture: JPEG, PNG or WebP, recognised by content',
  },
  threshold_percent: {
    kind: 'decimal',
    endpoints: all,
    min: 0,
    max: 100,
    default: 70,
    description: 'Least confidence_percent that counts as a match',
  },
  image1_face_index: {
    kind: 'integer',
    endpoints: advanced,
    min: -1,
    max: mostIndex,
    default: -1,
    description: 'Which face of image1, counted from 0, largest first; -1 chooses automatically',
  },
  image2_face_index: {
    kind: 'integer',
    endpoints: ['match_advanced'],
    min: -1,
    max: mostIndex,
    default: -1,
    description: 'Which face of image2, counted from 0, largest first; -1 chooses automatically',
  },
  face_index: {
    kind: 'integer',
    endpoints: ['embed'],
    min: -1,
    max: mostIndex,
    default: -1,
    description: 'Which face gets an embedding, counted from 0, largest first; -1 for all',
  },
  accuracy_mode: {
    kind: 'choice',
    endpoints: [...advanced, ...single],
    values: ['fast', 'balance'],
    default: 'balance',
    description: 'balance for accuracy, fast for lower latency',
  },
  use_heuristic_fallback: {
    kind: 'boolean',
    endpoints: [...advanced, ...single],
    values: ['true', 'false'],
    default: 'true',
    description: 'Whether to try further detection steps when no face was found',
  },
  min_det_score: {
    kind: 'decimal',
    endpoints: [...advanced, ...single],
    min: 0,
    max: 1,
    default: undefined,
    description: "Least detection score of a face; by default the model pack's own",
  },
  auto_pair_best: {
    kind: 'boolean',
    endpoints: advanced,
    values: ['true', 'false'],
    default: 'true',
    description:
      'Whether automatic choice takes the best pair of all faces, or the largest face of each image',
  },
  reject_low_quality: {
    kind: 'boolean',
    endpoints: [...advanced, 'embed'],
    values: ['true', 'false'],
    default: 'false',
    description: 'Whether a poor face is refused (422 `low_quality_face`) instead of answered with a warning',
  },
} as const satisfies Record<string, FieldRule>;

export type FieldName = keyof typeof fieldTable;

/** The values of a form's fields other than images, with defaults. */
export interface FieldValues {
  threshold_percent: number;
  image1_face_index: number;
  image2_face_index: number;
  face_index: number;
  accuracy_mode: AccuracyMode;
  use_heuristic_fallback: boolean;
  min_det_score: number;
  auto_pair_best: boolean;
  reject_low_quality: boolean;
}

/** The rule of a field by its name; undefined when the endpoint does not know it. */
export function ruleOf(name: string, endpoint: FormEndpoint): FieldRule | undefined {
  const rule: FieldRule | undefined = Object.hasOwn(fieldTable, name)
    ? fieldTable[name as FieldName]
    : undefined;
  return rule?.endpoints.includes(endpoint) ? rule : undefined;
}

/** The image fields of the endpoint, all required, in the order in which they are checked. */
export function imageFields(endpoint: FormEndpoint): FieldName[] {
  return (Object.keys(fieldTable) as FieldName[]).filter((name) => ruleOf(name, endpoint)?.kind === 'image');
}

/** The image field that the endpoint takes more than once, if any. */
export function repeatedField(endpoint: FormEndpoint): FieldName | undefined {
  return imageFields(endpoint).find((name) => {
    const rule: FieldRule = fieldTable[name];
    return 'repeatedBy' in rule && rule.repeatedBy?.includes(endpoint);
  });
}

/** Completes "expected …", for people and programs. */
export function expectation(rule: Exclude<FieldRule, ImageRule>): string {
  switch (rule.kind) {
    case 'decimal':
      return `a decimal number from ${rule.min} to ${rule.max}, such as ${(rule.min + rule.max) / 2}`;
    case 'integer':
      return `an integer from ${rule.min} to ${rule.max}`;
    default:
      return `one of ${rule.values.join(', ')}`;
  }
}

/**
 * The grammar of numbers: JSON's (RFC 8259 section 6) without exponents and negative zero. Number() alone would accept "",
 * " 1", "1e2", "0x10" and "Infinity".
 */
const grammar = { decimal: /^(?:0|[1-9]\d*)(?:\.\d+)?$/, integer: /^(?:0|-?[1-9]\d*)$/ } as const;

/** Text of a field → its value. Throws Problem invalid_field. */
export function parseField(name: string, rule: Exclude<FieldRule, ImageRule>, text: string): number | string {
  if ('values' in rule) {
    if (rule.values.includes(text)) return text;
  } else if (grammar[rule.kind].test(text)) {
    const number = Number(text);
    if (number >= rule.min && number <= rule.max) return number;
  }
  throw invalidField(name, rule);
}

export function invalidField(name: string, rule: Exclude<FieldRule, ImageRule>): Problem {
  const expected = expectation(rule);
  return new Problem('invalid_field', { detail: `Send ${expected} as ${name}.`, field: name, expected });
}

/** Fills in the defaults. `min_det_score` is the pack's default. */
export function fillFields(
  parsed: ReadonlyMap<string, number | string>,
  pack: { min_det_score: number },
): FieldValues {
  const number = (name: FieldName, fallback: number) => (parsed.get(name) as number | undefined) ?? fallback;
  const word = (name: 'accuracy_mode' | 'use_heuristic_fallback' | 'auto_pair_best' | 'reject_low_quality') =>
    (parsed.get(name) as string | undefined) ?? fieldTable[name].default;
  return {
    threshold_percent: number('threshold_percent', fieldTable.threshold_percent.default),
    image1_face_index: number('image1_face_index', fieldTable.image1_face_index.default),
    image2_face_index: number('image2_face_index', fieldTable.image2_face_index.default),
    face_index: number('face_index', fieldTable.face_index.default),
    accuracy_mode: word('accuracy_mode') as AccuracyMode,
    use_heuristic_fallback: word('use_heuristic_fallback') === 'true',
    min_det_score: number('min_det_score', pack.min_det_score),
    auto_pair_best: word('auto_pair_best') === 'true',
    reject_low_quality: word('reject_low_quality') === 'true',
  };
}
