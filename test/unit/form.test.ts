import { describe, expect, test } from 'vitest';
import { type FormLimits, readForm } from '../../src/http/form.ts';

const limits: FormLimits = {
  max_parts: 16,
  max_part_header_bytes: 8192,
  max_field_bytes: 8,
  max_image_bytes: 100,
};
const pack = { min_det_score: 0.5 };

type Part = [name: string, body: string, filename?: string];

function body(parts: readonly Part[]): Buffer {
  const lines = parts.map(([name, text, filename]) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    return `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${text}\r\n`;
  });
  return Buffer.from(`${lines.join('')}--b--\r\n`, 'latin1');
}

const images: Part[] = [
  ['image1', 'first picture', 'a.jpg'],
  ['image2', 'second picture', 'b.jpg'],
];
const read = (parts: readonly Part[], endpoint: 'match' | 'match_advanced' | 'detect' = 'match_advanced') =>
  readForm(body(parts), 'b', endpoint, limits, pack);

describe('readForm', () => {
  test('gives the place of each picture in the body and copies none', () => {
    const bytes = body(images);
    const form = readForm(bytes, 'b', 'match', limits, pack);
    expect(bytes.subarray(form.images[0]!.start, form.images[0]!.end).toString()).toBe('first picture');
    expect(bytes.subarray(form.images[1]!.start, form.images[1]!.end).toString()).toBe('second picture');
  });

  test('the order of the parts is free, and a picture needs no filename', () => {
    const form = read([
      ['image2', 'B'],
      ['threshold_percent', '5'],
      ['image1', 'A'],
    ]);
    expect(form.values.threshold_percent).toBe(5);
    expect(form.images[0]!.start).toBeGreaterThan(form.images[1]!.start);
  });

  test('a form of one picture has that, and knows fields of two as those of others', () => {
    const one: Part[] = [['image', 'picture', 'a.jpg']];
    expect(read(one, 'detect').images).toHaveLength(1);
    expect(() => read(images, 'detect')).toThrow(expect.objectContaining({ code: 'missing_field' }));
    expect(read([...one, ['image2', 'x'], ['threshold_percent', '5']], 'detect').warnings).toMatchObject([
      { field: 'image2', detail: expect.stringMatching(/belongs to other endpoints/) },
      { field: 'threshold_percent', detail: expect.stringMatching(/belongs to other endpoints/) },
    ]);
  });

  test('fields that the endpoint does not know are named once each and ignored', () => {
    const form = read(
      [...images, ['colour', 'x'], ['colour', 'y'], ['accuracy_mode', 'nonsense'], ['__proto__', '1']],
      'match',
    );
    expect(form.warnings).toEqual([
      { code: 'unknown_field', field: 'colour', detail: expect.stringMatching(/no endpoint knows it/) },
      { code: 'unknown_field', field: 'accuracy_mode', detail: expect.stringMatching(/the advanced one/) },
      { code: 'unknown_field', field: '__proto__', detail: expect.stringMatching(/no endpoint knows it/) },
    ]);
    expect(form.values.accuracy_mode).toBe('balance');
  });

  test.each<[what: string, parts: Part[], code: string, extras: object]>([
    ['no part at all', [], 'missing_field', { field: 'image1' }],
    ['no image1', [images[1]!], 'missing_field', { field: 'image1' }],
    ['no image2', [images[0]!], 'missing_field', { field: 'image2' }],
    ['an empty image1', [['image1', '', 'a.jpg'], images[1]!], 'missing_field', { field: 'image1' }],
    ['an empty image2', [images[0]!, ['image2', '']], 'missing_field', { field: 'image2' }],
    ['two image1', [...images, ['image1', 'again']], 'duplicate_field', { field: 'image1' }],
    [
      'two thresholds',
      [...images, ['threshold_percent', '1'], ['threshold_percent', '1']],
      'duplicate_field',
      { field: 'threshold_percent' },
    ],
    [
      'an empty value',
      [...images, ['threshold_percent', '']],
      'invalid_field',
      { field: 'threshold_percent' },
    ],
    [
      'a value as a file that is no value',
      [...images, ['auto_pair_best', 'maybe', 'x.txt']],
      'invalid_field',
      { field: 'auto_pair_best' },
    ],
    [
      'a text field one byte too long',
      [...images, ['threshold_percent', '50.000000']],
      'invalid_field',
      { field: 'threshold_percent' },
    ],
    [
      'an image one byte too large',
      [['image1', 'x'.repeat(101)], images[1]!],
      'image_too_large',
      { field: 'image1', limit_bytes: 100 },
    ],
    [
      'text in UTF-8 that looks like a digit',
      [...images, ['threshold_percent', Buffer.from('٣').toString('latin1')]],
      'invalid_field',
      { field: 'threshold_percent' },
    ],
  ])('%s is refused', (_what, parts, code, extras) => {
    expect(() => read(parts)).toThrow(
      expect.objectContaining({ code, extras: expect.objectContaining(extras) }),
    );
  });

  test('an image and a text field of exactly the limit are taken', () => {
    const form = read([['image1', 'x'.repeat(100)], images[1]!, ['threshold_percent', '50.00000']]);
    expect(form.values.threshold_percent).toBe(50);
  });

  test('a text field may come as a file', () => {
    expect(read([...images, ['auto_pair_best', 'false', 'x.txt']]).values.auto_pair_best).toBe(false);
  });

  test('the first fault in the order of the parts is told', () => {
    expect(() =>
      read([
        ['threshold_percent', 'x'],
        ['image1', 'x'.repeat(101)],
      ]),
    ).toThrow(expect.objectContaining({ code: 'invalid_field' }));
  });

  test("a broken body is invalid_multipart with the parser's words", () => {
    expect(() => readForm(Buffer.from('--b\r\nnothing'), 'b', 'match', limits, pack)).toThrow(
      expect.objectContaining({
        code: 'invalid_multipart',
        extras: { detail: expect.stringMatching(/\.$/) },
      }),
    );
  });
});
