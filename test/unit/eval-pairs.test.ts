import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { picturesOf, readPairs } from '../../src/eval/pairs.ts';
import { newFolder } from '../support/folder.ts';

let folder: string;
beforeAll(() => {
  folder = newFolder();
});

function read(text: string) {
  const file = join(folder, 'pairs.tsv');
  writeFileSync(file, text);
  return readPairs(file);
}

describe('a list of pairs', () => {
  test('is read with its columns in any order, with and without folds', () => {
    expect(read('same\tfold\timage2\timage1\n1\t2\tb\ta\n')).toEqual([
      { image1: 'a', image2: 'b', same: true, fold: '2' },
    ]);
    expect(read('image1\timage2\tsame\r\na\tb\t0\r\n')).toEqual([
      { image1: 'a', image2: 'b', same: false, fold: undefined },
    ]);
  });

  test.each([
    ['a column is missing', 'image1\timage2\na\tb\n', 'expected a column "same"'],
    ['it is empty', '', 'expected a column "image1"'],
    ['it has only a header', 'image1\timage2\tsame\n', 'no pairs'],
    ['a line is cut short', 'image1\timage2\tsame\na\tb\t1\na\tb\n', 'line 3'],
    ['same is a word', 'image1\timage2\tsame\na\tb\tyes\n', 'line 2'],
  ])('is refused when %s', (_, text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test('names each picture once', () => {
    const pair = { same: true, fold: undefined };
    const pairs = [
      { image1: 'a', image2: 'b', ...pair },
      { image1: 'b', image2: 'c', ...pair },
    ];
    expect(picturesOf(pairs)).toEqual(['a', 'b', 'c']);
  });
});
