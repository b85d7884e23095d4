import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { newFolder } from '../../test/support/folder.ts';
import { imagesOf, readPairs } from '../pairs.ts';
import { imagesBelow, parseGroupings, readPeople, requireColumns } from '../people.ts';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

function put(...files: string[]): void {
  for (const file of files) {
    mkdirSync(join(folder, 'images', file, '..'), { recursive: true });
    writeFileSync(join(folder, 'images', file), '');
  }
}
const read = () => readPeople('staff', join(folder, 'images'));

describe('a set of labelled people', () => {
  test('has one person per folder, and one group without a list', () => {
    put('ann/2.jpg', 'ann/1.PNG', 'ben/1.webp', 'ben/notes.txt', 'loose.jpg');
    const members = { set: 'staff', labels: ['staff'] };
    expect(read()).toEqual([
      { file: 'ann/1.PNG', person: 'staff/ann', ...members },
      { file: 'ann/2.jpg', person: 'staff/ann', ...members },
      { file: 'ben/1.webp', person: 'staff/ben', ...members },
    ]);
  });

  test.each(['people.tsv', 'images/people.tsv'])('reads its groups from %s', (list) => {
    put('a.jpg', 'b.jpg', 'c/1.jpg', 'unlisted.jpg');
    writeFileSync(join(folder, list), 'image\tage\tsex\nb.jpg\t3-9\tF\nc/1.jpg\t70+\tM\r\n');
    expect(read()).toEqual([
      { file: 'b.jpg', person: 'staff/b.jpg', set: 'staff', labels: ['age 3-9', 'sex F'] },
      { file: 'c/1.jpg', person: 'staff/c', set: 'staff', labels: ['age 70+', 'sex M'] },
    ]);
  });

  test.each([
    ['one folder', ['images/a.jpg', 'images/b.jpg'], ['a.jpg', 'b.jpg']],
    ['a folder in a folder', ['images/of/a.jpg', 'images/of/b.jpg'], ['a.jpg', 'b.jpg']],
    ['folders of people', ['images/ann/1.jpg', 'images/ann/2.jpg', 'images/c.jpg'], ['ann', 'ann', 'c.jpg']],
    ['folders with similar names', ['ann/1.jpg', 'anna/1.jpg', 'anna/2.jpg'], ['ann', 'anna', 'anna']],
  ])('determines people without a person column: %s', (_what, files, people) => {
    put(...files.map((file) => join('..', file)));
    writeFileSync(join(folder, 'people.tsv'), `image\tage\n${files.map((file) => `${file}\t3\n`).join('')}`);
    expect(readPeople('staff', folder).map(({ person }) => person)).toEqual(
      people.map((person) => `staff/${person}`),
    );
  });

  describe('a set of labelled people with a column for the person', () => {
    const list =
      'person\timage\tage\tsex\n7\timages/a.jpg\t3-9\tF\n7\timages/b.jpg\t10-19\tF\n8\tmore/c.jpg\t3-9\tM\n';
    beforeEach(() => {
      put('a.jpg', 'b.jpg', '../more/c.jpg', '../more/unlisted.jpg');
      writeFileSync(join(folder, 'people.tsv'), list);
    });
    const shown = (people: ReturnType<typeof readPeople>) =>
      people.map(({ file, person, labels }) => [file, person, labels.join('; ')]);

    test('has several images of a person, and no group for the column person', () => {
      expect(shown(readPeople('staff', folder))).toEqual([
        ['images/a.jpg', 'staff/7', 'age 3-9; sex F'],
        ['images/b.jpg', 'staff/7', 'age 10-19; sex F'],
        ['more/c.jpg', 'staff/8', 'age 3-9; sex M'],
      ]);
    });

    test('omits images of other folders if the list is next to the folder', () => {
      expect(shown(read())).toEqual([
        ['a.jpg', 'staff/7', 'age 3-9; sex F'],
        ['b.jpg', 'staff/7', 'age 10-19; sex F'],
      ]);
      expect(shown(readPeople('staff', join(folder, 'more')))).toEqual([
        ['c.jpg', 'staff/8', 'age 3-9; sex M'],
      ]);
      put('../none/d.jpg');
      expect(() => readPeople('staff', join(folder, 'none'))).toThrow('lists no image of');
    });

    test('needs no labels, and no person for some images', () => {
      writeFileSync(join(folder, 'people.tsv'), 'image\tperson\na.jpg\t7\nb.jpg\t\n');
      const set = { set: 'staff', labels: ['staff'] };
      expect(read()).toEqual([
        { file: 'a.jpg', person: 'staff/7', ...set },
        { file: 'b.jpg', person: 'staff/b.jpg', ...set },
      ]);
    });

    test.each([
      ['sex', 'sex F'],
      ['sex*age', 'sex F × age 3-9'],
      ['age, sex * age', 'age 3-9; sex F × age 3-9'],
      ['origin,sex', 'sex F'],
      ['origin', 'staff'],
    ])('is grouped by %s', (text, labels) => {
      const [first] = readPeople('staff', folder, parseGroupings(text));
      expect(first).toMatchObject({ set: 'staff', labels: labels.split('; ') });
    });

    test('rejects unknown columns and names the existing ones', () => {
      const require = (text: string) => () =>
        requireColumns(parseGroupings(text), [folder, join(folder, 'more')]);
      expect(require('sex,sex*age')).not.toThrow();
      expect(require('sex,origin*sex')).toThrow('origin × sex. Available labels: age, sex.');
      expect(require('person')).toThrow('Available labels: age, sex.');
    });
  });

  test.each(['', 'age,', '*age', 'age**sex', 'age*age'])('rejects groupings %j', (text) => {
    expect(() => parseGroupings(text)).toThrow('such as origin*sex,age');
  });

  test.each([
    ['no image column', 'picture\tage\na.jpg\t3\n', 'first line'],
    ['no label', 'image\na.jpg\n', 'first line'],
    ['a duplicate column', 'image\tage\tage\na.jpg\t3\t4\n', 'first line'],
    ['a missing image', 'image\tage\nz.jpg\t3\n', 'line 2'],
    ['a duplicate image', 'image\tage\na.jpg\t3\nimages/a.jpg\t3\n', 'line 3'],
    ['an empty value', 'image\tage\na.jpg\t\n', 'line 2'],
    ['one value too many', 'image\tage\na.jpg\t3\t4\n', 'line 2'],
  ])('is rejected for a list with %s', (_what, text, message) => {
    put('a.jpg');
    writeFileSync(join(folder, 'people.tsv'), text);
    expect(read).toThrow(message);
  });

  test('may consist of single images of different people', () => {
    put('one.jpg', 'two.png');
    expect(read().map(({ file, person }) => [file, person])).toEqual([
      ['one.jpg', 'staff/one.jpg'],
      ['two.png', 'staff/two.png'],
    ]);
  });

  test('is rejected without images', () => {
    mkdirSync(join(folder, 'images'));
    expect(() => imagesBelow(join(folder, 'images'))).toThrow('has no images');
    expect(read).toThrow('has no images');
  });
});

describe('a list of pairs', () => {
  function read(text: string | Uint8Array) {
    const file = join(folder, 'pairs.tsv');
    writeFileSync(file, text);
    return readPairs(file);
  }

  test('is read with its columns in any order, with and without folds', () => {
    expect(read('same\tfold\timage2\timage1\n1\t2\tb\ta\n')).toEqual([
      { image1: 'a', image2: 'b', same: true, fold: '2' },
    ]);
    expect(read('image1\timage2\tsame\r\na\tb\t FALSE \r\n')).toEqual([
      { image1: 'a', image2: 'b', same: false, fold: undefined },
    ]);
  });

  const text = '\ufeffimage1\timage2\tsame\r\n \t\t\r"staff\\ü.jpg"\tb\t0';
  test.each([
    ['UTF-8 with a byte order mark', Buffer.from(text)],
    ['UTF-16', Buffer.from(text, 'utf16le')],
    ['UTF-16, big-endian', Buffer.from(text, 'utf16le').swap16()],
    ['Latin-1', Buffer.from(text.slice(1), 'latin1')],
  ])('is read in %s', (_what, bytes) => {
    expect(read(bytes)).toMatchObject([{ image1: 'staff/ü.jpg', image2: 'b', same: false }]);
  });

  test.each([
    ['it has commas', 'image1,image2,same\na,b,1\n', 'pairs.tsv: expected tabs'],
    ['it has semicolons', 'image1;image2;same\na;b;1\n', 'tab-separated'],
    ['a column is missing', 'image1\timage2\na\tb\n', 'expected a column "same"'],
    ['it is empty', '', 'expected a column "image1"'],
    ['it has only a header', 'image1\timage2\tsame\n', 'no pairs'],
    ['a line ends early', 'image1\timage2\tsame\na\tb\t1\na\tb\n', 'line 3'],
    ['same is a word', 'image1\timage2\tsame\na\tb\tyes\n', 'same is "yes"'],
  ])('is rejected when %s', (_what, text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test('lists each image once', () => {
    const pairs = read('image1\timage2\tsame\na\tb\t1\nb\tc\t1\n');
    expect(imagesOf(pairs)).toEqual(['a', 'b', 'c']);
  });
});
