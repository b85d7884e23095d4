import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Problem } from '../../src/errors.ts';
import { boundaryOf, indexOfShort, parseMultipart } from '../../src/http/body/multipart.ts';
import {
  bytes,
  crlf,
  disposition,
  emptyParts,
  faultAt,
  hostileBodies,
  limits,
  misplaced,
  oneField,
  onePart,
  readParts,
} from '../fixtures/multipart.ts';

/** Why it is refused, and at which byte. */
function refusalOf(act: () => unknown) {
  try {
    act();
  } catch (error) {
    return { reason: (error as Problem).reason, at: faultAt(error) };
  }
  throw new Error('it was accepted');
}

const a = `${disposition}; name="a"`;

describe('the boundary of a Content-Type header', () => {
  const all70 = "0123456789 ABCXYZabcxyz'()+_,-./:=?0123456789 ABCXYZabcxyz'()+_,-./:=?";

  test.each<[string, string]>([
    ['multipart/form-data; boundary=b', 'b'],
    [' multipart/form-data\t;\tboundary=b \t', 'b'],
    ['Multipart/FORM-Data; BOUNDARY=B', 'B'],
    ['multipart/form-data; boundary="b"', 'b'],
    ['multipart/form-data; boundary="a b"', 'a b'],
    ['multipart/form-data; charset=utf-8; boundary=b; x="; boundary=c"', 'b'],
    ['multipart/form-data; boundary=b;', 'b'],
    ['multipart/form-data; boundary=----=_Part_0_1.2', '----=_Part_0_1.2'],
    [
      'multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW',
      '----WebKitFormBoundary7MA4YWxkTrZu0gW',
    ],
    [`multipart/form-data; boundary="${all70}"`, all70],
  ])('of %j is read', (header, boundary) => {
    expect(boundaryOf(header)).toBe(boundary);
  });

  test.each([
    '',
    'multipart',
    'multipart/',
    'multipart/mixed; boundary=b',
    'multipart/form-datax; boundary=b',
    'xmultipart/form-data; boundary=b',
    'multipart/ form-data; boundary=b',
    'multipart form-data; boundary=b',
    'application/json',
    'application/x-www-form-urlencoded; x=multipart/form-data; boundary=b',
    '"multipart/form-data"; boundary=b',
    '\u00a0multipart/form-data; boundary=b',
  ])('is not looked for in %j, which is not multipart/form-data', (header) => {
    expect(boundaryOf(header)).toBeUndefined();
  });

  test.each<[string, string]>([
    ['multipart/form-data', 'missing_boundary'],
    ['multipart/form-data;', 'missing_boundary'],
    ['multipart/form-data; x="; boundary=b"', 'missing_boundary'],
    ['multipart/form-data boundary=b', 'bad_boundary'],
    ['multipart/form-data, boundary=b', 'bad_boundary'],
    ['multipart/form-data; boundary=', 'bad_boundary'],
    ['multipart/form-data; boundary=""', 'bad_boundary'],
    ['multipart/form-data; boundary =b', 'bad_boundary'],
    ['multipart/form-data; =b', 'bad_boundary'],
    ['multipart/form-data; boundary="b', 'bad_boundary'],
    ['multipart/form-data; boundary="b\\', 'bad_boundary'],
    ['multipart/form-data; boundary="b"c', 'bad_boundary'],
    ['multipart/form-data; boundary=b"c"', 'bad_boundary'],
    ['multipart/form-data; boundary=b c', 'bad_boundary'],
    ['multipart/form-data; boundary="b "', 'bad_boundary'],
    ['multipart/form-data; boundary="b\\\\"', 'bad_boundary'],
    ['multipart/form-data; boundary="a\\b"', 'bad_boundary'],
    ['multipart/form-data; charset="a\\"b"; boundary=b', 'bad_boundary'],
    ["multipart/form-data; boundary=b; boundary*=utf-8''c", 'bad_boundary'],
    ['multipart/form-data; boundary*0=b; boundary=c', 'bad_boundary'],
    ['multipart/form-data; boundary=b,c', 'bad_boundary'],
    ['multipart/form-data; boundary="b\tc"', 'bad_boundary'],
    ['multipart/form-data; boundary=b\u00e9', 'bad_boundary'],
    ['multipart/form-data; boundary=b\0', 'bad_boundary'],
    ['multipart/form-data; boundary=b; boundary=b', 'bad_boundary'],
    ['multipart/form-data; boundary=b, multipart/form-data; boundary=c', 'bad_boundary'],
    [`multipart/form-data; boundary=${'b'.repeat(71)}`, 'bad_boundary'],
  ])('is refused in %j: %s', (header, reason) => {
    expect(refusalOf(() => boundaryOf(header)).reason).toBe(reason);
  });
});

describe('a form', () => {
  it('gives its parts in order, as ranges of the body', () => {
    const body = bytes(
      [
        crlf('--b', `${disposition}; name="image1"; filename="a.jpg"`, 'Content-Type: image/jpeg', ''),
        '\xff\xd8\r\n\0\xff\xd9\r\n',
        crlf('--b', `${disposition}; name="threshold_percent"`, '', '70', '--b--'),
      ].join(''),
    );
    const first = body.indexOf(0xff);
    const second = body.indexOf('70');
    expect(parseMultipart(body, 'b', limits)).toEqual([
      { name: 'image1', filename: 'a.jpg', start: first, end: first + 7 },
      { name: 'threshold_percent', filename: undefined, start: second, end: second + 2 },
    ]);
  });

  test.each<[string, Buffer, string[]]>([
    ['without parts', bytes('--b--\r\n'), []],
    ['with no last line end', bytes(crlf('--b', a, '', 'x').concat('--b--')), ['x']],
    ['with a preamble', bytes(`preamble\n--b\rthere${crlf('', '--b', a, '', 'x', '--b--')}`), ['x']],
    ['whose preamble begins like a boundary', bytes(crlf('--bb', '--b', a, '', 'x', '--b--')), ['x']],
    ['with an epilogue', bytes(`${crlf('--b', a, '', 'x', '--b--')}--b\r\n\0\n`), ['x']],
    ['with padding behind a boundary', bytes(crlf('--b \t ', a, '', 'x', '--b--')), ['x']],
    ['with an empty part', oneField(''), ['']],
    [
      'with an empty part that has no line of its own',
      bytes(crlf('--b', a, '', '--b', a, '', '--b--')),
      ['', ''],
    ],
    ['with a part of one line end', oneField('\r\n'), ['\r\n']],
    ['with a part that ends with CR', oneField('x\r'), ['x\r']],
  ])('%s is read', (_title, body, contents) => {
    expect(readParts(body).map((part) => part.content)).toEqual(contents);
    expect(misplaced(parseMultipart(body, 'b', limits), body)).toBeUndefined();
  });

  test.each<[string, string, string, number]>([
    ['that is empty', '', 'truncated', 0],
    ['without any boundary', 'hello', 'truncated', 5],
    ['with another boundary', '--c\r\n\r\n\r\n--c--\r\n', 'truncated', 16],
    ['with a boundary in the middle of a line', ' --b--\r\n', 'truncated', 8],
    ['without a final boundary', crlf('--b', a, '', 'x'), 'truncated', 52],
    ['whose final boundary lacks its dashes', crlf('--b', a, '', 'x', '--b '), 'truncated', 58],
    ['whose final boundary goes on', crlf('--b', a, '', 'x', '--b--c'), 'truncated', 60],
    ['that ends its lines with LF', `--b\n${a}\n\nx\n--b--\n`, 'bad_line_end', 3],
    ['that ends a boundary line with LF', `${crlf('--b', a, '', 'x')}--b \n`, 'bad_line_end', 56],
    ['that ends the last line with LF', `${crlf('--b', a, '', 'x')}--b--\n`, 'bad_line_end', 57],
    ['that ends a header with LF', `--b\r\nA: b\n${a}\r\n\r\nx\r\n--b--`, 'bad_line_end', 9],
    ['that has CR in a header', `--b\r\nA: b\rc\r\n${a}\r\n\r\nx\r\n--b--`, 'bad_line_end', 9],
    ['that has an LF for an empty line', `${crlf('--b', a)}\nx\r\n--b--`, 'bad_line_end', 47],
    ['that has a boundary line where a header should be', crlf('--b', '--b--'), 'bad_header', 5],
    ['that has a boundary line between headers', crlf('--b', a, '--b', '', '--b--'), 'bad_header', 47],
  ])('%s is refused', (_title, body, reason, at) => {
    expect(refusalOf(() => parseMultipart(bytes(body), 'b', limits))).toMatchObject({ reason, at });
  });

  it('cut short at any byte is refused as truncated', () => {
    const whole = `--b\r\n${disposition}; name="image1"; filename="a.jpg"\r\n\r\nx\r\n--b\r\n${a}\r\n\r\n70\r\n--b--`;
    for (let length = 0; length < whole.length; length++) {
      const refusal = refusalOf(() => parseMultipart(bytes(whole.slice(0, length)), 'b', limits));
      expect(refusal).toMatchObject({ reason: 'truncated', at: length });
    }
    expect(readParts(bytes(whole))).toHaveLength(2);
  });
});

describe('the headers of a part', () => {
  const long = `"${'n'.repeat(4000)}"`;

  test.each<[string, string, string | undefined]>([
    ['; name=a', 'a', undefined],
    ['; name="a"', 'a', undefined],
    [';name="a";filename="f"', 'a', 'f'],
    [' ;\tname="a" ; filename="f"\t; ', 'a', 'f'],
    ['; filename="f"; name="a"', 'a', 'f'],
    ['; NAME="a"; FileName=f', 'a', 'f'],
    ['; name=""; filename=""', '', ''],
    ['; name="a"; filename=my(1).jpg', 'a', 'my(1).jpg'],
    ['; name="a; filename=b"', 'a; filename=b', undefined],
    ['; name="a\\"b"', 'a"b', undefined],
    ['; name="a\\\\"', 'a\\', undefined],
    ['; name="a"; filename="C:\\new\\a.jpg"', 'a', 'C:\\new\\a.jpg'],
    ['; name="a%22b%0D%0Ac"; filename="%22.jpg"', 'a"b\r\nc', '".jpg'],
    ['; name="100%"; filename="%2522%0d%41"', '100%', '%2522%0d%41'],
    ['; name="a"; x=y; creation-date="Wed, 12"', 'a', undefined],
    ['; name="a"; filename="\xe7\x8c\xab.jpg"', 'a', '猫.jpg'],
    ['; name=\xc3\xa9', 'é', undefined],
    ['; name=a\xc2\xa0', 'a\u00a0', undefined],
    ["; name=a; filename*=UTF-8''%e7%8c%ab.jpg", 'a', '猫.jpg'],
    ["; name=a; filename*=utf-8'en'a%20b", 'a', 'a b'],
    ["; name=a; filename*=UTF-8''", 'a', ''],
    ["; name=a; filename*=UTF-8''%E7%8C%AB; filename=cat", 'a', '猫'],
    ["; name=a; filename=cat; filename*=UTF-8''%E7%8C%AB", 'a', '猫'],
    ['; name="a"; filename="M\xfcller.jpg"', 'a', 'M\ufffdller.jpg'],
    ['; name="\xc3\xa9"; filename="\xd6\xd0\xce\xc4.jpg"', 'é', '\ufffd\ufffd\ufffd\ufffd.jpg'],
    // Shift_JIS, whose second byte is a backslash, bare and as curl escapes it.
    ['; filename="\x95\x5c"; name="a"', 'a', '\ufffd'],
    ['; filename="\x95\x5c\x5c"; name="a"', 'a', '\ufffd'],
    ["; name=a; filename*=ISO-8859-1''M%FCller.jpg", 'a', 'Müller.jpg'],
    ["; name=a; filename*=gbk''%D6%D0", 'a', '中'],
    ["; name=a; filename*=UTF-8''%E7%8C", 'a', '\ufffd'],
    ["; name=a; filename*=utf-9''%E7; filename=cat", 'a', 'cat'],
    ['; name=a; filename*=b', 'a', undefined],
    ['; name=a; filename*0="one"; filename*1=".jpg"', 'a', undefined],
    [`; name=${long}`, long.slice(1, -1), undefined],
  ])('name the field and the file: %j', (parameters, name, filename) => {
    expect(readParts(onePart([disposition + parameters]))).toEqual([{ name, filename, content: 'x' }]);
  });

  test.each<[string, string[]]>([
    ['in any case', ['CONTENT-DISPOSITION:Form-Data;name=a', 'content-type:image/png']],
    ['with white space around the value', ['Content-Disposition: \t form-data; name=a \t']],
    ['of no interest', ['x: y', a, 'X-Y_z!: "', 'x: again', 'Content-Length: 7']],
    ['with a tab and with bytes beyond ASCII', [a, 'x: \t\xc3\xa9', 'y: \xe9']],
    ['that say 8bit', [a, 'Content-Transfer-Encoding: 8bit']],
  ])('%s are read', (_title, headers) => {
    expect(readParts(onePart(headers))).toEqual([{ name: 'a', filename: undefined, content: 'x' }]);
  });

  test.each<[string, string[], string]>([
    ['none', [], 'missing_disposition'],
    ['none that matters', ['Content-Type: image/png'], 'missing_disposition'],
    ['an attachment', ['Content-Disposition: attachment; name="a"'], 'not_form_data'],
    ['an empty disposition', ['Content-Disposition:'], 'not_form_data'],
    ['a disposition that only begins right', ['Content-Disposition: form-data2; name="a"'], 'not_form_data'],
    ['no name', [disposition], 'missing_name'],
    ['a name inside of a filename', [`${disposition}; filename="; name=a"`], 'missing_name'],
    ['two dispositions', [a, `${disposition}; name="b"`], 'bad_header'],
    ['two types', [a, 'Content-Type: image/png', 'Content-Type: image/png'], 'bad_header'],
    ['two names', [`${disposition}; name="a"; name="a"`], 'bad_header'],
    ['an extended name', [`${disposition}; name="a"; name*=UTF-8''b`], 'bad_header'],
    ['a continued name', [`${disposition}; name*0="a"; name*1="b"`], 'bad_header'],
    ['base64', [a, 'Content-Transfer-Encoding: base64'], 'bad_transfer_encoding'],
    ['a folded line', [`${disposition};`, ' name="a"'], 'bad_header'],
    ['a line without a colon', [a, 'hello'], 'bad_header'],
    ['a line without a name', [a, ': y'], 'bad_header'],
    ['a blank before the colon', ['Content-Disposition : form-data; name="a"'], 'bad_header'],
    ['a name that is not a token', [a, 'x(y): z'], 'bad_header'],
    ['a line that is the boundary and a colon', [a, '--b:'], 'bad_header'],
    ['a name beyond ASCII', [a, '\xc3\xa9: y'], 'bad_header'],
    ['NUL', [`${disposition}; name="a\0"`], 'bad_header'],
    ['an escape character', [a, 'x: \x1b[2J'], 'bad_header'],
    ['a name in Latin-1', [`${disposition}; name="\xe9"; filename="a.jpg"`], 'bad_header'],
    ['a quote that is not closed', [`${disposition}; name="a`], 'bad_header'],
    ['a blank within an unquoted value', [`${disposition}; name=a; filename=my photo.jpg`], 'bad_header'],
    ['a parameter without a value', [`${disposition}; name`], 'bad_header'],
    ['a parameter with an empty value', [`${disposition}; name=`], 'bad_header'],
    ['a parameter without a name', [`${disposition}; ="a"`], 'bad_header'],
  ])('are refused with %s', (_title, headers, reason) => {
    expect(refusalOf(() => readParts(onePart(headers))).reason).toBe(reason);
  });
});

describe('the limits', () => {
  it('let as many parts through as they say, and not one more', () => {
    expect(readParts(emptyParts(16))).toHaveLength(16);
    expect(refusalOf(() => readParts(emptyParts(17)))).toMatchObject({ reason: 'too_many_parts' });
    expect(readParts(emptyParts(0), 'b', { ...limits, parts: 0 })).toEqual([]);
    expect(refusalOf(() => readParts(emptyParts(1), 'b', { ...limits, parts: 0 })).reason).toBe(
      'too_many_parts',
    );
  });

  it('let a thousand lines through that begin as a delimiter and are none, and not one more', () => {
    const lines = (count: number) => oneField('\r\n--bA'.repeat(count));
    expect(readParts(lines(1000))).toHaveLength(1);
    const refusal = refusalOf(() => readParts(lines(1001)));
    expect(refusal).toMatchObject({ reason: 'too_many_lookalikes', at: lines(0).indexOf('\r\n\r\n') + 6004 });
  });

  it('let as many header bytes through as they say, and not one more', () => {
    const padding = 'x'.repeat(limits.header_bytes - crlf(a, 'x: ').length);
    expect(readParts(onePart([a, `x: ${padding}`]))).toHaveLength(1);
    const refusal = refusalOf(() => readParts(onePart([a, `x: ${padding}x`])));
    expect(refusal).toMatchObject({ reason: 'header_too_large', at: 5 + limits.header_bytes - 1 });
  });

  it('hold when the empty line never comes', () => {
    const body = bytes(`--b\r\n${a}\r\n${'x: y\r\n'.repeat(100_000)}`);
    expect(refusalOf(() => readParts(body)).reason).toBe('header_too_large');
  });
});

it('a short boundary is found where Buffer.indexOf finds it', () => {
  const needles = ['\r\n--b', '\r\n--\r-', '\r\n-----'].map(bytes);
  // From the edge of one of the pieces that are searched, or a little before, to that of a later one.
  const edge = fc.integer({ min: 16 * 1024 - 30, max: 16 * 1024 + 30 });
  const noise = fc.array(fc.constantFrom(...'\r\n--b'), { maxLength: 40 }).map((chars) => chars.join(''));
  fc.assert(
    fc.property(edge, noise, fc.constantFrom(...needles), fc.nat(60), (length, text, needle, from) => {
      const body = Buffer.concat([Buffer.alloc(length, '\r'), bytes(text), needle.subarray(0, text.length)]);
      expect(indexOfShort(body, needle, from)).toBe(body.indexOf(needle, from));
      expect(indexOfShort(body, needle, length - 9)).toBe(body.indexOf(needle, length - 9));
    }),
    { numRuns: 500 },
  );
});

describe('a hostile body', () => {
  // So large that a parser which passed over it again and again would not come to an end within the test's time.
  test.each(Object.entries(hostileBodies))('of %s is read in one pass, or refused', (_title, make) => {
    const body = make(4_000_000);
    try {
      expect(misplaced(parseMultipart(body, 'b', limits), body)).toBeUndefined();
    } catch (error) {
      expect(error).toBeInstanceOf(Problem);
    }
  });
});
