import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FlatJsonError, parseFlatJson } from '../../src/flat-json.ts';

/** What is wrong, as `line:column expected …`. */
function faultOf(text: string): string {
  try {
    parseFlatJson(text);
  } catch (error) {
    if (!(error instanceof FlatJsonError)) throw error;
    return `${error.place.line}:${error.place.column} ${error.message}`;
  }
  throw new Error('It was taken');
}

const any = 'a text in double quotes, a number, true or false';

describe('a flat object', () => {
  test('is read with the place of each name', () => {
    const text = '{\n  "A": "x",\n\t"B":1.5e3 ,\r\n"C":[ true,"y",-0 ], "D": []\n}\n';
    expect(parseFlatJson(text)).toEqual([
      { name: 'A', value: 'x', place: { line: 2, column: 3 } },
      { name: 'B', value: 1500, place: { line: 3, column: 2 } },
      { name: 'C', value: [true, 'y', -0], place: { line: 4, column: 1 } },
      { name: 'D', value: [], place: { line: 4, column: 22 } },
    ]);
  });

  test.each(['{}', ' { } ', '\ufeff{}', '\n{\n}\n'])('%j is empty', (text) => {
    expect(parseFlatJson(text)).toEqual([]);
  });

  test('may have a name twice, for the reader to judge', () => {
    expect(parseFlatJson('{"A":1,"A":2}').map(({ value }) => value)).toEqual([1, 2]);
  });

  const scalar = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
  );
  test('is read as JSON.parse reads it, however it is laid out', () => {
    const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(scalar, fc.array(scalar)), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(object, fc.constantFrom('', ' ', '\t', '\n'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        const entries = parseFlatJson(text).map(({ name, value: read }) => [name, read]);
        expect(entries).toEqual(Object.entries(JSON.parse(text)));
      }),
    );
  });

  test('is refused where JSON.parse refuses it, whatever is cut out of it', () => {
    const whole = '{"A": [1, "x\\n\\u00e9"], "B": -1.5e-3, "C": true}';
    fc.assert(
      fc.property(
        fc.nat(whole.length),
        fc.nat(6),
        fc.constantFrom('', ',', '"', '\\', ' ', '0', '}', 'e'),
        (at, cut, put) => {
          const text = whole.slice(0, at) + put + whole.slice(at + cut);
          const read = (parse: (text: string) => unknown) => {
            try {
              return Boolean(parse(text));
            } catch {
              return false;
            }
          };
          // A list within a list is JSON, and not flat; none comes about here.
          expect([text, read(parseFlatJson)]).toEqual([text, read(JSON.parse)]);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('what is no flat object', () => {
  test.each([
    ['', '1:1 expected {'],
    ['[1]', '1:1 expected {'],
    ['null', '1:1 expected {'],
    ['{', '1:2 expected a name in double quotes'],
    ['{"A"', '1:5 expected :'],
    ['{"A" 1}', '1:6 expected :'],
    ['{"A":}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":null}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":{"B":1}}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":[[1]]}', `1:7 expected ${any}`],
    ['{"A":[1,]}', `1:9 expected ${any}`],
    ['{"A":[1 2]}', '1:9 expected , or ]'],
    ['{"A":1 "B":2}', '1:8 expected , or }'],
    ['{\n  "A": 1\n  "B": 2\n}', '3:3 expected , or }'],
    ['{"A":1,}', '1:8 expected a name in double quotes'],
    ['{"A":1}}', '1:8 expected nothing behind the last }'],
    ["{'A':1}", '1:2 expected a name in double quotes'],
    ['{A:1}', '1:2 expected a name in double quotes'],
    ['{"A":01}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":0x10}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":+1}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":yes}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":True}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":"x\ny"}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":"x', `1:6 expected ${any}, or a list of them in [ ]`],
    ['{"A":"\\x"}', `1:6 expected ${any}, or a list of them in [ ]`],
    ['// why\n{}', '1:1 expected {'],
  ])('%j is told by its place', (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });

  test('is told without a word of it', () => {
    expect(faultOf('{"A": "secret" "B": 1}')).not.toContain('secret');
  });

  test('is told at once, however long it is', () => {
    const text = `{"A":"${'x\\"'.repeat(500_000)}`;
    expect(faultOf(text)).toMatch(/^1:6 /);
  });
});
