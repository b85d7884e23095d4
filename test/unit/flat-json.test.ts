import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FlatJsonError, parseFlatJson } from '../../src/flat-json.ts';

/** What is wrong, as `line:column fault`. */
function faultOf(text: string): string {
  try {
    parseFlatJson(text);
  } catch (error) {
    if (!(error instanceof FlatJsonError)) throw error;
    return error.message.replace(/^line (\d+), column (\d+):/, '$1:$2');
  }
  throw new Error('It was taken');
}

const item = 'expected a text in double quotes, a number, true or false';
const value = `${item}, or a list of them in [ ]`;

describe('a flat object', () => {
  test('is read with the place of each name', () => {
    const text = '{\n  "A": "x",\n\t"B":1.5e3 ,\r\n"C":[ true,"y",-0 ], "D": []\n}\n';
    expect(parseFlatJson(text)).toEqual([
      { name: 'A', value: 'x', place: 'line 2, column 3' },
      { name: 'B', value: 1500, place: 'line 3, column 2' },
      { name: 'C', value: [true, 'y', -0], place: 'line 4, column 1' },
      { name: 'D', value: [], place: 'line 4, column 22' },
    ]);
  });

  test.each(['{}', ' { } ', '\ufeff{}', '\n{\n}\n'])('%j is empty', (text) => {
    expect(parseFlatJson(text)).toEqual([]);
  });

  test('may have any character in a text that JSON allows there', () => {
    const texts = ['\u007f\u009f', '\u2028', '\ufeff', '\ud800', '//', '/*'];
    for (const value of texts) expect(parseFlatJson(`{"A":"${value}"}`)).toMatchObject([{ value }]);
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
        fc.constantFrom(...'," \\0}e-.+/:\n\f\u0001\u007f\u00a0\ud800', '', '\\u', '//', '/**/', '\r\n'),
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
    ['', '1:1 not JSON: value expected'],
    ['[1]', '1:1 expected {'],
    ['null', '1:1 expected {'],
    ['"A"', '1:1 expected {'],
    ['{', '1:2 not JSON: close brace expected'],
    ['{"A"', '1:5 not JSON: colon expected'],
    ['{"A" 1}', '1:6 not JSON: colon expected'],
    ['{"A":}', '1:6 not JSON: value expected'],
    ['{"A":null}', `1:6 ${value}`],
    ['{"A":{"B":1}}', `1:6 ${value}`],
    ['{"A":[[1]]}', `1:7 ${item}`],
    ['{"A":[1, null]}', `1:10 ${item}`],
    ['{"A":[{}]}', `1:7 ${item}`],
    ['{"A":[1,]}', '1:9 not JSON: value expected'],
    ['{"A":[1 2]}', '1:9 not JSON: comma expected'],
    ['{"A":[1', '1:8 not JSON: close bracket expected'],
    ['{"A":1 "B":2}', '1:8 not JSON: comma expected'],
    ['{\n  "A": 1\n  "B": 2\n}', '3:3 not JSON: comma expected'],
    ['{\r\n"A": "é\u{1f600}" 2}', '2:12 not JSON: comma expected'],
    ['\ufeff{"A" 1}', '1:6 not JSON: colon expected'],
    ['\ufeff\ufeff{}', '1:1 not JSON: invalid symbol'],
    ['{"A":1,}', '1:8 not JSON: property name expected'],
    ['{"A":1}}', '1:8 not JSON: end of file expected'],
    ["{'A':1}", '1:2 not JSON: invalid symbol'],
    ['{A:1}', '1:2 not JSON: invalid symbol'],
    ['{"A":01}', '1:7 not JSON: comma expected'],
    ['{"A":0x10}', '1:7 not JSON: invalid symbol'],
    ['{"A":1.}', '1:6 not JSON: unexpected end of number'],
    ['{"A":-}', '1:6 not JSON: invalid symbol'],
    ['{"A":+1}', '1:6 not JSON: invalid symbol'],
    ['{"A":NaN}', '1:6 not JSON: invalid symbol'],
    ['{"A":yes}', '1:6 not JSON: invalid symbol'],
    ['{"A":True}', '1:6 not JSON: invalid symbol'],
    ['{"A":\u00a01}', '1:6 not JSON: invalid symbol'],
    ['{"A":"x\ny"}', '1:6 not JSON: unexpected end of string'],
    ['{"A":"x', '1:6 not JSON: unexpected end of string'],
    ['{"A":"x\ty"}', '1:6 not JSON: invalid character'],
    ['{"A":"\\x"}', '1:6 not JSON: invalid escape character'],
    ['{"A":"\\u12g4"}', '1:6 not JSON: invalid unicode'],
    ['// why\n{}', '1:1 not JSON: invalid comment token'],
  ])('%j is told by its place', (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });

  test('is told without a word of it', () => {
    for (const text of ['"secret" "B": 1', '"secret', '"\\xsecret"', 'secret', '["secret", secret]'])
      expect(faultOf(`{"A": ${text}}`)).not.toContain('secret');
  });

  test('is told at once, however long it is', () => {
    const text = `{"A":"${'x\\"'.repeat(500_000)}`;
    expect(faultOf(text)).toMatch(/^1:6 /);
  });

  test.each(['[', '{"A":', '{"A":[', '{"A":\n'])('is told at once, however deep %j is nested', (open) => {
    expect(faultOf(open.repeat(100_000))).toMatch(/^\d:\d expected /);
  });
});
