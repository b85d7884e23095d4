// Bodies of the largest size that a server takes, for its main thread: a short text over and over, at one place of a form or of JSON.
import { randomFillSync } from 'node:crypto';
import { form, content_type as formType } from '../../test/support/load.mjs';
import { advanced, detect, many, match } from './heads.mjs';

const fields = { [match]: 'image1', [advanced]: 'image1', [many]: 'image2', [detect]: 'image' };
const paths = Object.keys(fields);

/** RFC 2046 section 5.1.1: what a boundary may be made of. */
const boundaryChars = [..."ABab01'()+_,-./:=?"];

function boundaryOf(random) {
  const chars = Array.from({ length: 1 + random.below(2) }, () => random.pick(boundaryChars));
  return chars
    .join('')
    .repeat(70)
    .slice(0, random.pick([1, 2, 3, 4, 5, 8, 20, 69, 70]));
}

const formPieces = (boundary) => [
  ...[
    '\r',
    '\n',
    '\r\n',
    '-',
    '--',
    '\r\n--',
    '\n--',
    '\r--',
    ' ',
    '\t',
    ' '.repeat(1000),
    'A',
    ':',
    ';',
    '"',
    '\\',
    '%0A',
    '\0',
    '\xe9',
  ],
  ...[
    boundary,
    boundary.slice(1),
    boundary.slice(0, -1),
    `--${boundary}`,
    `\r\n--${boundary}`,
    `\r\n--${boundary}A`,
  ],
  ...[`\r\n--${boundary} `, `\r\n--${boundary}--`, `\r\n--${boundary}--A`, `\r\n--${boundary.slice(0, -1)}`],
  ...[
    'a: b\r\n',
    'Content-Disposition: form-data; name="a"\r\n',
    'Content-Disposition: form-data; name="a"\r\n\r\n',
  ],
];

const jsonPieces = [
  ...[
    'A',
    'AAAA',
    '=',
    '+',
    '/',
    '-',
    '*',
    '\\/',
    '\\u002F',
    '\\u0041',
    '\\u00e9',
    '\\ud83d',
    '\\n',
    '\\\\',
    '\\',
    '\\u',
    '\\"',
    '"',
  ],
  ...[
    ' ',
    '\n',
    '\t',
    '\0',
    '\xc3\xa9',
    '\xff',
    ',',
    ':',
    '[',
    ']',
    '{',
    '}',
    '{"a":',
    '"a",',
    '"AAAA",',
    '1',
    '1e',
    '-0',
    'null,',
  ],
];

/** One to four pieces, one of them perhaps many times. */
function unitOf(random, pieces) {
  const chosen = Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces));
  chosen[0] = chosen[0].repeat(random.pick([1, 1, 1, 2, 7, 1000]));
  return chosen.join('');
}

/** What stands before and after the unit. */
function formPlaces(boundary, field) {
  const open = `--${boundary}\r\nContent-Disposition: form-data; name="${field}"`;
  const close = `\r\n--${boundary}--\r\n`;
  return {
    picture: [`${open}; filename="a"\r\n\r\n`, close],
    'text field': [
      `--${boundary}\r\nContent-Disposition: form-data; name="threshold_percent"\r\n\r\n`,
      close,
    ],
    'open part': [`${open}\r\n\r\n`, ''],
    preamble: ['', `\r\n${open}\r\n\r\n${close}`],
    epilogue: [`${open}\r\n\r\nA${close}`, ''],
    padding: [`--${boundary}`, close],
    headers: [`--${boundary}\r\n`, `\r\n\r\n${close}`],
    filename: [`${open}; filename="`, `"\r\n\r\n${close}`],
    'after small parts': [`${open.replace(field, 'a')}\r\n\r\nA\r\n`.repeat(8), close],
  };
}

const jsonPlaces = (field) => ({
  picture: [`{"${field}":"`, '"}'],
  pictures: [`{"${field}":["`, '"]}'],
  'open picture': [`{"${field}":"`, ''],
  'list of pictures': [`{"${field}":["AAAA",`, '"AAAA"]}'],
  'unknown member': ['{"a":"', '"}'],
  'unknown value': ['{"a":', '}'],
  name: ['{"', '":1}'],
  number: ['{"threshold_percent":', '}'],
  start: ['', `{"${field}":"AAAA"}`],
  end: [`{"${field}":"AAAA"`, '}'],
});

/** `{ what, path, content_type, body }`, of `size` bytes. */
export function heavy(random, size) {
  const path = random.pick(paths);
  const isForm = random.chance(0.5);
  const boundary = boundaryOf(random);
  const places = isForm ? formPlaces(boundary, fields[path]) : jsonPlaces(fields[path]);
  const [place, [before, after]] = random.pick(Object.entries(places));
  const pieces = isForm ? formPieces(boundary) : jsonPieces;
  // One in three goes over from one unit to another.
  const units = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => unitOf(random, pieces));
  const room = size - before.length - after.length;
  const first = units.length === 1 ? room : random.below(room);
  const filled = [first, room - first].map((length, index) =>
    Buffer.alloc(length, units[index] ?? '', 'latin1'),
  );
  const shown = units.map((unit) =>
    JSON.stringify(unit.length > 60 ? `${unit.slice(0, 20)}… (${unit.length})` : unit),
  );
  return {
    what: `${isForm ? `form, boundary ${JSON.stringify(boundary)}` : 'JSON'}, ${place}: ${shown.join(' then ')}`,
    is: isForm ? 'form' : 'JSON',
    path,
    content_type: isForm ? `multipart/form-data; boundary="${boundary}"` : 'application/json',
    body: Buffer.concat([Buffer.from(before, 'latin1'), ...filled, Buffer.from(after, 'latin1')]),
  };
}

/** Two pictures of random bytes, as a form and as JSON: what the others are compared with. */
export function plain(size) {
  const half = randomFillSync(Buffer.alloc(size / 2 - 1024));
  const text = half.toString('base64').slice(0, half.length);
  return [
    { is: 'form', path: match, content_type: formType, body: form({ image1: half, image2: half }) },
    {
      is: 'JSON',
      path: match,
      content_type: 'application/json',
      body: Buffer.from(JSON.stringify({ image1: text, image2: text })),
    },
  ];
}
