import { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { atOnce, inTurns } from '../../src/engine/turns.ts';
import { Problem } from '../../src/errors.ts';
import { boundaryOf, parseMultipart } from '../../src/http/body/multipart.ts';
import { runs } from '../support/runs.ts';

/**
 * Tests hand-written and random forms. A string represents its Latin-1 bytes, so "\xff" is one byte.
 */

const limits = { parts: 16, header_bytes: 8192 };

const disposition = 'Content-Disposition: form-data';

const bytes = (text: string) => Buffer.from(text, 'latin1');

const crlf = (...lines: string[]) => lines.map((line) => `${line}\r\n`).join('');

function onePart(headers: string[], content = 'x'): Buffer {
  return bytes(`${crlf('--b', ...headers, '')}${content}\r\n--b--\r\n`);
}

const oneField = (content: string) => onePart([`${disposition}; name="a"`], content);

function emptyParts(count: number): Buffer {
  return bytes(`${crlf('--b', `${disposition}; name=a`, '', '').repeat(count)}--b--`);
}

interface ReadPart {
  name: string;
  filename: string | undefined;
  content: string;
}

const parse = (...args: Parameters<typeof parseMultipart>) => atOnce(parseMultipart(...args));
const parseInTurns = (...args: Parameters<typeof parseMultipart>) =>
  inTurns(parseMultipart(...args), () => {});

/** Returns the parts with their bytes as a latin1 string. */
function readParts(body: Buffer, boundary = 'b', within = limits): ReadPart[] {
  return parse(body, boundary, within).map(({ start, end, ...headers }) => ({
    ...headers,
    content: body.toString('latin1', start, end),
  }));
}

/** Returns the reason of the rejection and the byte offset; rethrows other errors. */
function rejectionOf(act: () => unknown) {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { reason: error.reason, at: Number(/ \(at byte (\d+)\)\.$/.exec(error.message)?.[1]) };
  }
  throw new Error('it was accepted');
}

const a = `${disposition}; name="a"`;

describe('the boundary of a Content-Type header', () => {
  const all70 = "0123456789 ABCXYZabcxyz'()+_,-./:=?0123456789 ABCXYZabcxyz'()+_,-./:=?";

  test.each<[string, string]>([
    [' multipart/form-data\t;\tboundary=b \t', 'b'],
    ['Multipart/FORM-Data; BOUNDARY=B', 'B'],
    ['multipart/form-data; boundary="a b"', 'a b'],
    ['multipart/form-data; charset=utf-8; boundary=b; x="; boundary=c"', 'b'],
    ['multipart/form-data; boundary=b;', 'b'],
    ['multipart/form-data; boundary=----=_Part_0_1.2', '----=_Part_0_1.2'],
    [`multipart/form-data; boundary="${all70}"`, all70],
  ])('is read from %j', (header, boundary) => {
    expect(boundaryOf(header)).toBe(boundary);
  });

  test.each([
    '',
    'multipart',
    'multipart/mixed; boundary=b',
    'multipart/form-datax; boundary=b',
    'multipart/ form-data; boundary=b',
    'application/json',
    'application/x-www-form-urlencoded; x=multipart/form-data; boundary=b',
    '"multipart/form-data"; boundary=b',
    '\u00a0multipart/form-data; boundary=b',
  ])('is ignored in %j, which is not multipart/form-data', (header) => {
    expect(boundaryOf(header)).toBeUndefined();
  });

  test.each<[string, string]>([
    ['multipart/form-data', 'missing_boundary'],
    ['multipart/form-data; x="; boundary=b"', 'missing_boundary'],
    ['multipart/form-data boundary=b', 'bad_boundary'],
    ['multipart/form-data; boundary=', 'bad_boundary'],
    ['multipart/form-data; boundary =b', 'bad_boundary'],
    ['multipart/form-data; =b', 'bad_boundary'],
    ['multipart/form-data; boundary="b', 'bad_boundary'],
    ['multipart/form-data; boundary="b\\', 'bad_boundary'],
    ['multipart/form-data; boundary="b"c', 'bad_boundary'],
    ['multipart/form-data; boundary=b c', 'bad_boundary'],
    ['multipart/form-data; boundary="b "', 'bad_boundary'],
    ['multipart/form-data; boundary="a\\b"', 'bad_boundary'],
    ['multipart/form-data; charset="a\\"b"; boundary=b', 'bad_boundary'],
    ["multipart/form-data; boundary=b; boundary*=utf-8''c", 'bad_boundary'],
    ['multipart/form-data; boundary*0=b; boundary=c', 'bad_boundary'],
    ['multipart/form-data; boundary=b,c', 'bad_boundary'],
    ['multipart/form-data; boundary="b\tc"', 'bad_boundary'],
    ['multipart/form-data; boundary=b\u00e9', 'bad_boundary'],
    ['multipart/form-data; boundary=b\0', 'bad_boundary'],
    ['multipart/form-data; boundary=b; boundary=b', 'bad_boundary'],
    [`multipart/form-data; boundary=${'b'.repeat(71)}`, 'bad_boundary'],
  ])('is rejected in %j: %s', (header, reason) => {
    expect(rejectionOf(() => boundaryOf(header)).reason).toBe(reason);
  });
});

describe('parseMultipart', () => {
  test.each<[string, Buffer, string[]]>([
    ['whose preamble begins like a boundary', bytes(crlf('--bb', '--b', a, '', 'x', '--b--')), ['x']],
    ['with padding after a boundary', bytes(crlf('--b \t ', a, '', 'x', '--b--')), ['x']],
    [
      'with a boundary directly after the headers of a part',
      bytes(crlf('--b', a, '', '--b', a, '', '--b--')),
      ['', ''],
    ],
  ])('reads a form %s', (_title, body, contents) => {
    expect(readParts(body).map((part) => part.content)).toEqual(contents);
  });

  test.each<[string, string, string, number]>([
    ['that is empty', '', 'truncated', 0],
    ['without any boundary', 'hello', 'truncated', 5],
    ['with another boundary', '--c\r\n\r\n\r\n--c--\r\n', 'truncated', 16],
    ['with a boundary in the middle of a line', ' --b--\r\n', 'truncated', 8],
    ['without a final boundary', crlf('--b', a, '', 'x'), 'truncated', 52],
    ['whose final boundary lacks its dashes', crlf('--b', a, '', 'x', '--b '), 'truncated', 58],
    ['whose final boundary is followed by other bytes', crlf('--b', a, '', 'x', '--b--c'), 'truncated', 60],
    ['that ends its lines with LF', `--b\n${a}\n\nx\n--b--\n`, 'bad_line_end', 3],
    ['that ends a boundary line with LF', `${crlf('--b', a, '', 'x')}--b \n`, 'bad_line_end', 56],
    ['that ends the last line with LF', `${crlf('--b', a, '', 'x')}--b--\n`, 'bad_line_end', 57],
    ['that ends a header with LF', `--b\r\nA: b\n${a}\r\n\r\nx\r\n--b--`, 'bad_line_end', 9],
    ['that has CR in a header', `--b\r\nA: b\rc\r\n${a}\r\n\r\nx\r\n--b--`, 'bad_line_end', 9],
    ['that has LF as an empty line', `${crlf('--b', a)}\nx\r\n--b--`, 'bad_line_end', 47],
    ['that has a boundary line instead of a header', crlf('--b', '--b--'), 'bad_header', 5],
    ['that has a boundary line between headers', crlf('--b', a, '--b', '', '--b--'), 'bad_header', 47],
  ])('rejects a form %s', (_title, body, reason, at) => {
    expect(rejectionOf(() => parse(bytes(body), 'b', limits))).toMatchObject({ reason, at });
  });
});

describe('the headers of a part', () => {
  const long = `"${'n'.repeat(4000)}"`;

  test.each<[string, string, string | undefined]>([
    [' ;\tname="a" ; filename="f"\t; ', 'a', 'f'],
    ['; FileName=f; NAME="a"', 'a', 'f'],
    ['; name="a"; filename=my(1).jpg', 'a', 'my(1).jpg'],
    ['; name="a"; filename="C:\\new\\a.jpg"', 'a', 'C:\\new\\a.jpg'],
    ['; name="a%22b%0D%0Ac"; filename="%22.jpg"', 'a"b\r\nc', '".jpg'],
    ['; name="100%"; filename="%2522%0d%41"', '100%', '%2522%0d%41'],
    ['; name="a"; x=y; creation-date="Wed, 12"', 'a', undefined],
    ['; name=\xc3\xa9', 'é', undefined],
    ['; name=a\xc2\xa0', 'a\u00a0', undefined],
    ["; name=a; filename*=utf-8'en'a%20b", 'a', 'a b'],
    ["; name=a; filename*=UTF-8''", 'a', ''],
    ["; name=a; filename*=UTF-8''%E7%8C%AB; filename=cat", 'a', '猫'],
    ["; name=a; filename=cat; filename*=UTF-8''%E7%8C%AB", 'a', '猫'],
    ['; name="a"; filename="M\xfcller.jpg"', 'a', 'M\ufffdller.jpg'],
    ['; name="\xc3\xa9"; filename="\xd6\xd0\xce\xc4.jpg"', 'é', '\ufffd\ufffd\ufffd\ufffd.jpg'],
    // Shift_JIS with a backslash as the second byte, unescaped and as curl escapes it.
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
    ['in upper or lower case', ['CONTENT-DISPOSITION:Form-Data;name=a', 'content-type:image/png']],
    ['with white space around the value', ['Content-Disposition: \t form-data; name=a \t']],
    ['with unrelated fields', ['x: y', a, 'X-Y_z!: "', 'x: again', 'Content-Length: 7']],
    ['with a tab and with bytes beyond ASCII', [a, 'x: \t\xc3\xa9', 'y: \xe9']],
    ['with the encoding 8bit', [a, 'Content-Transfer-Encoding: 8bit']],
  ])('are read if they are written %s', (_title, headers) => {
    expect(readParts(onePart(headers))).toEqual([{ name: 'a', filename: undefined, content: 'x' }]);
  });

  test.each<[string, string[], string]>([
    ['no Content-Disposition', ['Content-Type: image/png'], 'missing_disposition'],
    ['an attachment', ['Content-Disposition: attachment; name="a"'], 'not_form_data'],
    ['an empty disposition', ['Content-Disposition:'], 'not_form_data'],
    [
      'a disposition that only begins with form-data',
      ['Content-Disposition: form-data2; name="a"'],
      'not_form_data',
    ],
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
    ['a parameter without a name', [`${disposition}; ="a"`], 'bad_header'],
  ])('are rejected with %s', (_title, headers, reason) => {
    expect(rejectionOf(() => readParts(onePart(headers))).reason).toBe(reason);
  });
});

describe('the limits', () => {
  it('allow the maximum number of parts, and not one more', () => {
    expect(readParts(emptyParts(16))).toHaveLength(16);
    expect(rejectionOf(() => readParts(emptyParts(17)))).toMatchObject({ reason: 'too_many_parts' });
    expect(readParts(emptyParts(0), 'b', { ...limits, parts: 0 })).toEqual([]);
    const none = rejectionOf(() => readParts(emptyParts(1), 'b', { ...limits, parts: 0 }));
    expect(none.reason).toBe('too_many_parts');
  });

  it('allow a thousand lines that begin like a delimiter, and not one more', () => {
    const lines = (count: number) => oneField('\r\n--bA'.repeat(count));
    expect(readParts(lines(1000))).toHaveLength(1);
    const rejection = rejectionOf(() => readParts(lines(1001)));
    expect(rejection).toMatchObject({
      reason: 'too_many_lookalikes',
      at: lines(0).indexOf('\r\n\r\n') + 6004,
    });
  });

  it('allow the maximum number of header bytes, and not one more', () => {
    const padding = 'x'.repeat(limits.header_bytes - crlf(a, 'x: ').length);
    expect(readParts(onePart([a, `x: ${padding}`]))).toHaveLength(1);
    const rejection = rejectionOf(() => readParts(onePart([a, `x: ${padding}x`])));
    expect(rejection).toMatchObject({ reason: 'header_too_large', at: 5 + limits.header_bytes - 1 });
  });
});

it('finds a short boundary where Buffer.indexOf finds it', () => {
  const head = `--b\r\n${a}\r\n\r\n`;
  // The text is near the end of a searched piece.
  const edge = fc.integer({ min: 16 * 1024 - 30, max: 16 * 1024 + 30 });
  const noise = fc.array(fc.constantFrom(...'\r\n--'), { maxLength: 40 }).map((chars) => chars.join(''));
  fc.assert(
    fc.property(edge, noise, fc.nat(2), (length, text, pieces) => {
      const body = bytes(`${head}${'\r'.repeat(length + pieces * 16 * 1024)}${text}\r\n--b--`);
      expect(readParts(body)[0]!.content.length).toBe(body.indexOf('\r\n--b--') - head.length);
    }),
    { numRuns: runs(500) },
  );
});

/** Each function returns a body of about `size` bytes that is slow to parse. */
const hostileBodies: Record<string, (size: number) => Buffer> = {
  'boundaries that lack their last character': (size) => oneField('\r\n--'.repeat(size / 4)),
  'lookalikes with long padding': (size) => oneField(`\r\n--b${' '.repeat(1000)}A`.repeat(size / 1006)),
  'closing boundaries followed by other bytes': (size) => oneField('\r\n--b--A'.repeat(size / 8)),
  'only CR': (size) => oneField('\r'.repeat(size)),
  'only CR LF': (size) => oneField('\r\n'.repeat(size / 2)),
  'only dashes': (size) => oneField('-'.repeat(size)),
  'blanks after the closing boundary': (size) => bytes(`--b--${' '.repeat(size)}`),
  'a preamble of lookalikes': (size) => bytes(`${'\r\n--b:'.repeat(size / 6)}\r\n--b--`),
  'an epilogue of boundaries': (size) => bytes(`--b--\r\n${'--b\r\n'.repeat(size / 5)}`),
  'no boundary at all': (size) => bytes('\r\n--a'.repeat(size / 5)),
};

// The bodies are so large that a parser with repeated passes would exceed the test's timeout.
test.each(Object.entries(hostileBodies))(
  'reads a hostile body of %s in one pass, or rejects it',
  (_title, make) => {
    const body = make(4_000_000);
    try {
      parse(body, 'b', limits);
    } catch (error) {
      expect(error).toBeInstanceOf(Problem);
    }
  },
);

describe('a body that takes several turns', () => {
  const turn = 1024 * 1024;
  const long = 'boundary-of-a-client';
  const frame = (boundary: string) =>
    [
      crlf(`--${boundary}`, `${disposition}; name=a`, ''),
      crlf('', `--${boundary}`, `${disposition}; name=b`, ''),
    ] as const;

  test.each(['b', long])('is read in the same way, wherever a boundary is: %s', async (boundary) => {
    const [first, second] = frame(boundary);
    for (let shift = -second.length - 6; shift <= 6; shift += 1) {
      const filler = 'x'.repeat(turn - first.length + shift);
      const body = bytes(`${first}${filler}${second}y\r\n--${boundary}--`);
      const parts = await parseInTurns(body, boundary, limits);
      expect(parts.map(({ name, start, end }) => [name, end - start])).toEqual([
        ['a', filler.length],
        ['b', 1],
      ]);
    }
  });

  test('lets other work run between turns', async () => {
    const [first] = frame('b');
    let [turns, isRead] = [0, false];
    const other = () => {
      turns += 1;
      if (!isRead) setImmediate(other);
    };
    setImmediate(other);
    await parseInTurns(bytes(`${first}${'x'.repeat(8 * turn)}\r\n--b--`), 'b', limits);
    isRead = true;
    expect(turns).toBeGreaterThanOrEqual(8);
  });

  test('is rejected if it is truncated', async () => {
    const body = bytes(`${frame('b')[0]}${'x'.repeat(2 * turn)}`);
    await expect(parseInTurns(body, 'b', limits)).rejects.toBeInstanceOf(Problem);
  });

  test.each([[1000], [1001]])('may have at most 1000 spaces after a boundary: %i', (blanks) => {
    const read = () => parse(bytes(`--b--${' '.repeat(blanks)}`), 'b', limits);
    if (blanks === 1000) expect(read()).toEqual([]);
    else expect(rejectionOf(read)).toMatchObject({ reason: 'too_much_padding' });
  });
});

/**
 * Returns the parts that @fastify/busboy reads, or undefined for an error. Makes busboy treat every part as a file, so
 * that it decodes none.
 */
function readWithBusboy(body: Buffer, contentType: string): Promise<ReadPart[] | undefined> {
  return new Promise((resolve) => {
    const headers = { 'content-type': contentType };
    const busboy = new Busboy({ headers, preservePath: true, isPartAFile: () => true });
    const parts: ReadPart[] = [];
    busboy.on('file', (name, stream, filename) => {
      const part = { name, filename, content: '' };
      parts.push(part);
      stream.on('data', (chunk: Buffer) => {
        part.content += chunk.toString('latin1');
      });
      stream.on('error', () => resolve(undefined));
    });
    busboy.on('finish', () => resolve(parts));
    busboy.on('error', () => resolve(undefined));
    Readable.from([body]).pipe(busboy);
  });
}

/** Decodes the three escapes of browsers, so that the parts of both parsers can be compared. */
function normalised(parts: ReadPart[] | undefined): ReadPart[] | undefined {
  const decode = (name: string) => name.replace(/%(22|0D|0A)/g, decodeURIComponent);
  return parts?.map(({ name, filename, content }) => ({
    name: decode(name),
    filename: filename === undefined ? undefined : decode(filename),
    content,
  }));
}

interface Form {
  boundary: string;
  content_type: string;
  body: Buffer;
}

const bcharsNoSpace = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'()+_,-./:=?"];

/**
 * Makes boundaries of 1 to 70 characters, of which the last is not a space (RFC 2046 §5.1.1). Short ones are more
 * frequent, because they occur in content.
 */
const boundaries = fc
  .tuple(
    fc.oneof(
      fc.string({ unit: fc.constantFrom('-', 'b'), maxLength: 3 }),
      fc.string({ unit: fc.constantFrom(...bcharsNoSpace, ' '), maxLength: 69 }),
    ),
    fc.constantFrom(...bcharsNoSpace),
  )
  .map(([start, last]) => start + last);

/** Makes content with bytes at which a parser is likely to stop. */
function contentsFor(boundary: string): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.constantFrom('\r', '\n', '\r\n', '-', '--', ' ', '\0', '\r\n--', boundary, boundary.slice(0, -1)),
    fc.constantFrom(`--${boundary}`, `\n--${boundary}`, `\r--${boundary}--`, `\r\n-${boundary}`),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  return fc
    .array(piece, { maxLength: 12 })
    .map((pieces) => pieces.join(''))
    .filter((content) => isFree(content, boundary));
}

/**
 * Returns true if no line begins with the boundary, because busboy reads such a line as a delimiter.
 */
const isFree = (text: string, boundary: string) =>
  `\r\n${text}\r\n--${boundary}`.indexOf(`\r\n--${boundary}`) === text.length + 2;

const names = fc.oneof(
  fc.constantFrom('image1', 'image2', 'threshold_percent', '', 'a"b', 'a;b', 'a=b', "a'b", '%', '%22', '猫'),
  fc.string({ unit: 'grapheme', maxLength: 12 }).filter((name) => !/[\p{Cc}\p{Cs}]/u.test(name)),
);

/**
 * Functions that write a value as browsers do, with quoted pairs, and unquoted. The last one omits characters that
 * need quotes.
 */
const writers = [
  (value: string) => `"${value.replaceAll('"', '%22').replaceAll('\\', '/')}"`,
  (value: string) => `"${value.replace(/["\\]/g, '\\$&')}"`,
  (value: string) => value.replace(/[";\\ ]/g, '') || 'x',
];
const written = (parameter: string) =>
  fc
    .tuple(names, fc.constantFrom(...writers))
    .map(([value, write]) => `${parameter}=${write(Buffer.from(value).toString('latin1'))}`);

const filenames = fc.oneof(
  fc.constant(undefined),
  written('filename'),
  written('FileName'),
  names.map((name) => `filename*=UTF-8''${encodeURIComponent(name).replaceAll("'", '%27') || 'x'}`),
);

const type = fc.constantFrom('form-data', 'Form-Data');
const dispositions = fc
  .tuple(type, written('name'), filenames, fc.constantFrom(';', '; ', ';\t '))
  .map(([type, name, filename, separator]) =>
    [type, name, ...(filename === undefined ? [] : [filename])].join(separator),
  );

const otherHeaders = fc.subarray([
  'Content-Type: image/jpeg',
  'X-Header: "',
  'X-Header: a:b; c',
  'Content-Transfer-Encoding: binary',
  'content-length: 0',
]);

const header = fc.constantFrom('Content-Disposition: ', 'content-disposition:');
const partsFor = (boundary: string) =>
  fc
    .tuple(dispositions, otherHeaders, header, fc.nat(5))
    .chain(([disposition, others, header, position]) =>
      contentsFor(boundary).map((content) => ({
        headers: crlf(...others.toSpliced(position, 0, header + disposition)),
        content,
      })),
    )
    .filter(({ headers }) => isFree(headers, boundary));

/** Forms that every parser should read in the same way. */
const forms: fc.Arbitrary<Form> = boundaries.chain((boundary) =>
  fc
    .record({
      preamble: fc.oneof(
        fc.constant(''),
        contentsFor(boundary).map((text) => `${text}\r\n`),
      ),
      parts: fc.array(partsFor(boundary), { maxLength: 5 }),
      epilogue: fc.constantFrom('', '\r\n', ' \t\r\n', '\r\nepilogue', `\r\n--${boundary}\r\n\r\n`),
    })
    .map(({ preamble, parts, epilogue }) => {
      const delimited = parts.map(({ headers, content }) => `--${boundary}\r\n${headers}\r\n${content}\r\n`);
      const text = `${preamble}${delimited.join('')}--${boundary}--${epilogue}`;
      return { boundary, content_type: `multipart/form-data; boundary="${boundary}"`, body: bytes(text) };
    }),
);

/** Makes changes of a form: at `at`, drops bytes, inserts others, and copies some of `from`, both shares of its length. */
function changesFor(boundary: string) {
  const tokens = ['', ...'\r,\n,\r\n,\0,",\\,;,:, ,-,--,*,%,\''.split(','), `\r\n--${boundary}`];
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  return fc.record({
    at: share,
    drop: fc.oneof(fc.constantFrom(0, 1, Number.POSITIVE_INFINITY), fc.nat(20)),
    insert: fc.oneof(fc.constantFrom(...tokens).map(bytes), fc.uint8Array({ minLength: 1, maxLength: 1 })),
    from: share,
    repeat: fc.oneof(fc.constant(0), fc.nat(60)),
  });
}

const tampered: fc.Arbitrary<Form> = forms.chain((form) =>
  fc.array(changesFor(form.boundary), { minLength: 1, maxLength: 3 }).map((changes) => {
    let { body } = form;
    for (const { at, drop, insert, from, repeat } of changes) {
      const [place, other] = [at, from].map((share) => Math.floor(share * body.length)) as [number, number];
      const repeated = body.subarray(other, other + repeat);
      body = Buffer.concat([body.subarray(0, place), insert, repeated, body.subarray(place + drop)]);
    }
    return { ...form, body };
  }),
);

/** Returns the parts, or undefined if the form is rejected. */
function readOrReject({ body, boundary }: Form) {
  try {
    return readParts(body, boundary);
  } catch (error) {
    expect(error).toBeInstanceOf(Problem);
    return undefined;
  }
}

// The second and the third seed have found bugs.
describe.each([1, 7578, 2046])('with seed %i', (seed) => {
  const how = { seed, numRuns: runs(2000), interruptAfterTimeLimit: 20_000 };

  it('reads a well-formed form like busboy, and reports a truncated one', async () => {
    const anywhere = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const property = fc.asyncProperty(forms, anywhere, async (form, share) => {
      const { body, boundary, content_type } = form;
      expect(boundaryOf(content_type)).toBe(boundary);
      expect(normalised(readOrReject(form))).toEqual(normalised(await readWithBusboy(body, content_type)));
      const short = body.subarray(0, Math.floor(share * body.lastIndexOf(`--${boundary}--`, 'latin1')));
      const rejection = rejectionOf(() => parse(short, boundary, limits));
      expect(rejection).toMatchObject({ reason: 'truncated', at: short.length });
    });
    await fc.assert(property, how);
  });

  it('reads a tampered form like busboy, or rejects it', async () => {
    const property = fc.asyncProperty(tampered, async (form) => {
      const ours = readOrReject(form);
      if (ours === undefined || isBusboyWrong(form)) return;
      expect(normalised(ours)).toEqual(normalised(await readWithBusboy(form.body, form.content_type)));
    });
    await fc.assert(property, how);
  });
});

/**
 * busboy reads everything that begins with the boundary as a delimiter, and loses parts with padding or without a body
 * (RFC 2046 §5.1.1).
 */
function isBusboyWrong({ body, boundary }: Form): boolean {
  const [, ...sections] = `\r\n${body.toString('latin1')}`.split(`\r\n--${boundary}`);
  const closing = sections.findIndex((section) => /^--[ \t]*(\r\n|$)/.test(section));
  return sections.slice(0, closing).some((section) => !/^\r\n[\s\S]*\r\n\r\n/.test(section));
}
