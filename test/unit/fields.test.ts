import { describe, expect, test } from 'vitest';
import {
  expectation,
  type FieldName,
  type FieldRule,
  fieldTable,
  fillFields,
  type ImageRule,
  parseField,
  ruleOf,
} from '../../src/http/fields.ts';

type ValueRule = Exclude<FieldRule, ImageRule>;
const valueRules = Object.entries<FieldRule>(fieldTable).filter(
  (entry): entry is [FieldName, ValueRule] => entry[1].kind !== 'image',
);
const rule = (name: FieldName) => fieldTable[name] as ValueRule;

const words = (text: string) => text.split(' ');

/** Text that no field of the kind may take. */
const everywhere = [
  '',
  ' ',
  '\0',
  '1 ',
  ' 1',
  '1\n',
  '\t1',
  ...words('yes null undefined NaN Infinity -Infinity'),
];
const numbers = [...words('1e2 1E2 +1 -0 ٣ １ 0x1 0b1 1_0 1,5 1. .5 00 01 --1 1e309'), '9'.repeat(1000)];
const misuse: Record<ValueRule['kind'], readonly string[]> = {
  decimal: [...everywhere, ...numbers, '-0.0', '0.5.5', '1/2', '50%'],
  integer: [...everywhere, ...numbers, '1.5', '1.0', '0.0', '-1.0', '-01', '2147483648', '-2'],
  choice: [...everywhere, 'Fast', 'FAST', 'fast,balance', 'balanced', '0'],
  boolean: [...everywhere, 'True', 'TRUE', '1', '0', 'on', 'no', 't'],
};

describe('parseField', () => {
  for (const [name, field] of valueRules) {
    test.each(misuse[field.kind].map((text) => [text.slice(0, 30), text]))(
      `${name} refuses %j`,
      (_shown, text) => {
        expect(() => parseField(name, field, text)).toThrow(
          expect.objectContaining({
            code: 'invalid_field',
            extras: expect.objectContaining({ field: name, expected: expectation(field) }),
          }),
        );
      },
    );
  }

  test.each<[FieldName, string, number | string]>([
    ['threshold_percent', '0', 0],
    ['threshold_percent', '100', 100],
    ['threshold_percent', '72.5', 72.5],
    ['threshold_percent', `0.${'1'.repeat(1000)}`, 1 / 9],
    ['min_det_score', '0', 0],
    ['min_det_score', '1', 1],
    ['min_det_score', '0.35', 0.35],
    ['image1_face_index', '-1', -1],
    ['image2_face_index', '2147483647', 2_147_483_647],
    ['accuracy_mode', 'fast', 'fast'],
    ['accuracy_mode', 'balance', 'balance'],
    ['use_heuristic_fallback', 'true', 'true'],
    ['auto_pair_best', 'false', 'false'],
    ['reject_low_quality', 'true', 'true'],
  ])('%s takes %s', (name, text, value) => {
    expect(parseField(name, rule(name), text)).toBe(value);
  });

  test.each<[FieldName, string]>([
    ['threshold_percent', '100.0000001'],
    ['threshold_percent', '-1'],
    ['min_det_score', '1.0000001'],
    ['min_det_score', '-0.1'],
  ])('%s refuses %s, one step past its range', (name, text) => {
    expect(() => parseField(name, rule(name), text)).toThrow(
      expect.objectContaining({ code: 'invalid_field' }),
    );
  });
});

describe('ruleOf', () => {
  test.each<[string, 'match' | 'match_advanced', boolean]>([
    ['image1', 'match', true],
    ['threshold_percent', 'match', true],
    ['accuracy_mode', 'match', false],
    ['accuracy_mode', 'match_advanced', true],
    ['IMAGE1', 'match', false],
    ['image3', 'match_advanced', false],
    ['', 'match', false],
    ['__proto__', 'match', false],
  ])('the field %j of %s is known: %s', (name, endpoint, known) => {
    expect(ruleOf(name, endpoint) !== undefined).toBe(known);
  });
});

describe('fillFields', () => {
  test('an empty form has the defaults of the contract, and the least score of the pack', () => {
    expect(fillFields(new Map(), { min_det_score: 0.42 })).toEqual({
      threshold_percent: 70,
      image1_face_index: -1,
      image2_face_index: -1,
      face_index: -1,
      accuracy_mode: 'balance',
      use_heuristic_fallback: true,
      min_det_score: 0.42,
      auto_pair_best: true,
      reject_low_quality: false,
    });
  });

  test('what was sent wins, zero and false included', () => {
    const sent = new Map<string, number | string>([
      ['threshold_percent', 0],
      ['min_det_score', 0],
      ['image1_face_index', 0],
      ['use_heuristic_fallback', 'false'],
      ['auto_pair_best', 'false'],
      ['reject_low_quality', 'true'],
      ['accuracy_mode', 'fast'],
    ]);
    expect(fillFields(sent, { min_det_score: 0.42 })).toMatchObject({
      threshold_percent: 0,
      min_det_score: 0,
      image1_face_index: 0,
      image2_face_index: -1,
      use_heuristic_fallback: false,
      auto_pair_best: false,
      reject_low_quality: true,
      accuracy_mode: 'fast',
    });
  });
});

test('the default of every field is a value that the field takes', () => {
  for (const [name, field] of valueRules) {
    if (field.default !== undefined) {
      expect(() => parseField(name, field, String(field.default)), name).not.toThrow();
    }
  }
});
