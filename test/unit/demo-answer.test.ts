import { describe, expect, test } from 'vitest';
import { describeAnswer, describePlace, describeRate, type MatchAnswer } from '../../src/cli/demo-answer.ts';
import { coloursWhen } from '../../src/cli/terminal.ts';
import { examples } from '../../src/site/examples.ts';

test.each([
  [1, false, 'most pairs of strangers score this high'],
  [0.1, false, '1 in 10 pairs of strangers scores this high'],
  [1.5873e-5, false, '1 in 63,000 pairs of strangers scores this high'],
  [1e-5, true, 'fewer than 1 in 100,000 pairs of strangers score this high'],
  [1, true, 'how often strangers score this high is not known'],
])('a false-match rate of %d (extrapolated: %j) is: %s', (false_match_rate, extrapolated, words) => {
  expect(describeRate({ false_match_rate, extrapolated })).toBe(words);
});

test.each([
  [0, 0, 'at the top left'],
  [99, 99, 'at the top left'],
  [100, 100, 'at the centre'],
  [-50, 400, 'at the bottom left'],
])('a face around (%d, %d) of 300 × 300 is %s', (x, y, words) => {
  const box = { x: x - 5, y: y - 5, width: 10, height: 10 };
  expect(describePlace(box, { width: 300, height: 300 })).toBe(words);
});

describe('an answer in words', () => {
  const recorded = (examples.Match as unknown as MatchAnswer).image1.faces[0]!;
  const face = { ...recorded, index: 1, box: { x: 712.4, y: 233, width: 181.2, height: 214.9 } };
  const image = {
    width: 1920,
    height: 1280,
    format: 'jpeg',
    orientation: 1,
    smallest_face: 9,
    faces: [{ ...face, index: 0 }, face],
    face_index: 1,
  } satisfies MatchAnswer['image1'];
  const answer: MatchAnswer = {
    warnings: [],
    match: true,
    confidence_percent: 78.04,
    threshold_percent: 70,
    false_match_rate: 1.5873e-5,
    extrapolated: false,
    accuracy_mode: 'balance',
    image1: image,
    image2: { ...image, faces: [{ ...face, index: 0 }], face_index: 0 },
    pairs_compared: 2,
    timings_ms: { decode: 3.14, total: 18 },
  };
  const words = (changes: Partial<MatchAnswer> = {}) =>
    describeAnswer(
      { ...answer, ...changes },
      { image1: 'a.jpg', image2: 'b.jpg' },
      25.55,
      coloursWhen(false),
    );

  test('says all that a person asks', () => {
    expect(words().split('\n')).toEqual([
      'Match: the same person',
      '  confidence  78.0 % (the threshold is 70 %): 1 in 63,000 pairs of strangers scores this high',
      '  image1      a.jpg, 1920×1280, 2 faces from 9 px on: the one at the top, 181×215 pixels at (712, 233)',
      '  image2      b.jpg, 1920×1280, 1 face from 9 px on: the one at the top, 181×215 pixels at (712, 233)',
      '  compared    2 pairs of faces, accuracy mode balance',
      '  time        25.6 ms in all; decode 3.1 · total 18.0',
      '',
    ]);
  });

  test('says of a percent beyond what was measured only that it is as much at least', () => {
    const beyond = words({ confidence_percent: 93.9, false_match_rate: 1e-5, extrapolated: true });
    expect(beyond).toContain(
      '≥ 80.0 % (the API says 93.9 %, calculated beyond what was measured; the threshold is 70 %): fewer than 1 in 100,000 pairs',
    );
    expect(words({ false_match_rate: 1, extrapolated: true, confidence_percent: 24 })).toContain(' 24.0 %');
  });

  test('names the files that its warnings are about, and not the fields of a request', () => {
    const largest = { code: 'not_the_largest_face', field: 'image1', detail: 'send auto_pair_best' } as const;
    const poor = { code: 'low_quality_face', field: 'image2', detail: 'In image2 it is blurred.' } as const;
    const [first, second] = words({ warnings: [largest, poor] })
      .split('\n')
      .slice(5);
    expect(first).toMatch(
      /^ {2}warning {5}The face compared in a\.jpg is not the largest one there: make sure/,
    );
    expect(second).toBe('  warning     In b.jpg it is blurred.');
  });

  test('is plain text where colours do not belong, and coloured where they do', () => {
    const colours = coloursWhen(true);
    expect(words()).not.toContain('\u001b');
    expect(describeAnswer(answer, { image1: 'a', image2: 'b' }, 1, colours)).toContain('\u001b[32m');
  });
});
