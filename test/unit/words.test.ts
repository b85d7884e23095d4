import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { describeMatch, type MatchResponse } from '../../src/cli/describe-match.ts';
import { coloursWhen } from '../../src/cli/terminal.ts';
import { programs } from '../../src/demo/browser/programs.ts';
import { curlLine, plainText, warningText } from '../../src/demo/browser/words.ts';
import { examples } from '../../src/site/examples.ts';
import { rangeNote, shareOfPairs, thresholdText } from '../../src/words/score.ts';

/** Tests the texts for users on the demo page and the command line. */

describe('warningText', () => {
  test('names the photo of a warning about the largest face, and omits advice for programs', () => {
    const warning = { code: 'not_the_largest_face', field: 'image2', detail: 'auto_pair_best' } as const;
    expect(warningText(warning)).toMatch(
      /^The face compared in photo 2 is not the largest face\. .*photo\.$/,
    );
  });

  test('counts the photos and faces of a person from 1', () => {
    const place = { field: 'image2', index: 0, face_index: 1 } as const;
    const behind = { code: 'not_the_largest_face', ...place, detail: '' } as const;
    expect(warningText(behind)).toMatch(/^The largest face of photo 1 of person 2 was .*, but face 2 agrees/);
    const poorQuality = {
      code: 'low_quality_face',
      field: 'image1',
      index: 1,
      detail: 'image1[1] is blurred.',
    } as const;
    expect(warningText(poorQuality)).toBe('Photo 2 of person 1 is blurred.');
  });

  test('replaces the names of request fields', () => {
    expect(plainText('Check that all photos of image2 agree: `false_match_rate` of image1.')).toBe(
      'Check that all photos of person 2 agree: false match rate of photo 1.',
    );
  });
});

describe('shareOfPairs', () => {
  test.each([
    [1, false, 'most'],
    [0.5, false, '5 in 10'],
    [0.0123, false, '1 in 81'],
    [1e-4, false, '1 in 10,000'],
    [0, false, 'fewer than 1 in 10 million'],
    [1e-5, true, 'fewer than 1 in 100,000'],
    [1e-7, true, 'fewer than 1 in 10 million'],
    [1, true, 'an unknown share of'],
  ])('describes a rate of %d (extrapolated: %j) as %s', (false_match_rate, extrapolated, share) => {
    expect(shareOfPairs({ false_match_rate, extrapolated })).toBe(`${share} pairs of different people`);
  });
});

describe('thresholdText', () => {
  test.each([
    [70, '1 in 10,000'],
    [40, '1 in 10'],
    [0, 'more than 1 in 10'],
    [100, 'fewer than 1 in 10 million'],
  ])('describes a threshold of %d as %s', (percent, share) => {
    expect(thresholdText(percent)).toBe(`${share} pairs of different people would match`);
  });
});

describe('rangeNote', () => {
  test.each([
    [1e-6, true, 'beyond the measured range'],
    [1e-6, false, ''],
    [1, true, ''],
  ])(
    'describes a rate of %d (extrapolated: %j) with the note "%s"',
    (false_match_rate, extrapolated, note) => {
      expect(rangeNote({ false_match_rate, extrapolated })).toBe(note);
    },
  );
});

const photo = (name: string, filename: string) => ({ name, file: new File([], filename) });
const plan = {
  endpoint: 'match_advanced' as const,
  path: '/API/v1.0/face/match/upload/advanced',
  fields: { threshold_percent: '70', accuracy_mode: 'fast' },
};
const origin = 'http://127.0.0.1:8080';

describe('programs', () => {
  const files = [photo('image1', "it's.jpg"), photo('image2', 'b "x".png'), photo('image2', 'c.png')];
  const asked = { ...plan, fields: { ...plan.fields, threshold_percent: '70.5', auto_pair_best: 'false' } };
  const many = { ...asked, endpoint: 'match_many' as const };

  test('write valid shell code that sends JSON', () => {
    const script = `curl() { cat; }; base64() { printf 'AA\\nAA'; }; cd "$(mktemp -d)"; : > "it's.jpg"; : > 'b "x".png'; : > c.png\n`;
    for (const [plan, image2] of [
      [asked, 'AAAA'],
      [many, ['AAAA', 'AAAA']],
    ] as const) {
      const line = programs.JSON!(origin, plan, plan === many ? files : files.slice(0, 2));
      const { stdout, stderr } = spawnSync('sh', ['-c', script + line], { encoding: 'utf8' });
      expect(stderr).toBe('');
      const values = { threshold_percent: 70.5, accuracy_mode: 'fast', auto_pair_best: false };
      expect(JSON.parse(stdout)).toEqual({ image1: 'AAAA', image2, ...values });
    }
  });

  test("call the client's method in Node and Python, with values in the language's syntax", () => {
    expect(programs.Node!(origin, many, files)).toContain(
      `client.many(await openAsBlob("it's.jpg"), [await openAsBlob("b \\"x\\".png"), await openAsBlob("c.png")], ` +
        '{ threshold_percent: 70.5, accuracy_mode: "fast", auto_pair_best: false })',
    );
    expect(programs.Python!(origin, asked, files.slice(0, 2))).toContain(
      `client.match("it's.jpg", "b \\"x\\".png", threshold_percent=70.5, accuracy_mode="fast", auto_pair_best=False)`,
    );
  });
});

describe('curlLine', () => {
  /** Parses the arguments like a shell. */
  const argumentsOf = (line: string) => {
    const script = `curl() { printf '%s\\0' "$@"; }; FACEMATCH_KEY=the-key; ${line}`;
    const { stdout, stderr, status } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
    expect([stderr, status]).toEqual(['', 0]);
    return stdout.split('\0').slice(0, -1);
  };
  test('omits a missing photo from the request, and reads the key from the environment', () => {
    const missing = { name: 'image2', file: undefined };
    expect(argumentsOf(curlLine(origin, plan, [photo('image1', 'a.jpg'), missing]))).toEqual([
      ...['-H', 'x-api-key: the-key', '-F', 'image1=@a.jpg'],
      ...['-F', 'threshold_percent=70', '-F', 'accuracy_mode=fast', origin + plan.path],
    ]);
  });

  test.each([
    ['my photo.jpg', 'image1=@my photo.jpg'],
    ["it's.jpg", "image1=@it's.jpg"],
    ['$(rm -rf ~)`id`!.jpg', 'image1=@$(rm -rf ~)`id`!.jpg'],
    ['a;type=b,c.jpg', 'image1=@"a;type=b,c.jpg"'],
    ['"quoted".jpg', 'image1=@"\\"quoted\\".jpg"'],
    ['líne\nbreak.jpg', 'image1=@líne\nbreak.jpg'],
  ])('quotes the file name %j for the shell and for curl', (filename, argument) => {
    expect(argumentsOf(curlLine(origin, plan, [photo('image1', filename)]))[3]).toBe(argument);
  });
});

describe('describeMatch', () => {
  const recorded = (examples.Match as unknown as MatchResponse).image1.faces[0]!;
  const face = { ...recorded, index: 1, box: { x: 712.4, y: 233, width: 181.2, height: 214.9 } };
  const image = {
    width: 1920,
    height: 1280,
    format: 'jpeg',
    orientation: 1,
    min_detectable_face_px: 9,
    faces: [{ ...face, index: 0 }, face],
    face_index: 1,
  } satisfies MatchResponse['image1'];
  const response: MatchResponse = {
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
    timings_ms: { queue: 0, decode: 3.14, detect: 8, align: 2, embed: 4.86, total: 18 },
  };
  const names = { image1: 'a.jpg', image2: 'b.jpg' };
  const words = (changes: Partial<MatchResponse> = {}) =>
    describeMatch({ ...response, ...changes }, names, 25.55, coloursWhen(false));

  test('contains verdict, score, faces, pairs and times', () => {
    expect(words().split('\n')).toEqual([
      'Match (78\u00a0% ≥ 70\u00a0%)',
      '  score       78\u00a0%: 1 in 63,000 pairs of different people score this high',
      '  image1      a.jpg, 1920×1280 px, 2 faces of at least 9 px; compared: 181×215 px at (712, 233)',
      '  image2      b.jpg, 1920×1280 px, 1 face of at least 9 px; compared: 181×215 px at (712, 233)',
      '  compared    2 pairs of faces, accuracy mode balance',
      '  time        25.6 ms; on the server: queue 0.0 · decode 3.1 · detect 8.0 · align 2.0 · embed 4.9 · total 18.0',
      '',
    ]);
  });

  test('compares the percentage of a non-match with the threshold, and never states that the people differ', () => {
    const [verdict] = words({ match: false, confidence_percent: 24.1 }).split('\n');
    expect(verdict).toBe('No match (24.1\u00a0% is below the threshold of 70\u00a0%)');
  });

  test("shows the API's percentage beyond the measured range, with a note", () => {
    const beyond = words({ confidence_percent: 93.9, false_match_rate: 1e-5, extrapolated: true });
    expect(beyond).toContain('93.9\u00a0% (beyond the measured range): fewer than 1 in 100,000 pairs');
  });

  test('names files, not request fields, in warnings', () => {
    const largest = { code: 'not_the_largest_face', field: 'image1', detail: 'send auto_pair_best' } as const;
    const poorQuality = {
      code: 'low_quality_face',
      field: 'image2',
      detail: 'In image2 it is blurred.',
    } as const;
    const [first, second] = words({ warnings: [largest, poorQuality] })
      .split('\n')
      .slice(5);
    expect(first).toMatch(/^ {2}warning {5}The face compared in a\.jpg is not the largest face\. Check/);
    expect(second).toBe('  warning     In b.jpg it is blurred.');
  });
});
