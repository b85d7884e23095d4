// Measures the main thread's CPU time for bodies of the maximum size. Each body repeats one or two strings at one
// place of a form or of JSON.
import { randomFillSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { form, content_type as formType } from '../../test/support/load.mjs';
import { mainThreadCpuMsOf } from '../../test/support/programs.mjs';
import { Random } from '../../test/support/random.mjs';
import { progress, quantile } from '../../test/support/report.mjs';
import { advanced, detect, many, match } from './headers.mjs';

const fields = { [match]: 'image1', [advanced]: 'image1', [many]: 'image2', [detect]: 'image' };

/** Some of the characters that a boundary may have (RFC 2046, section 5.1.1). */
const boundaryChars = [..."ABab01'()+_,-./:=?"];

function boundaryOf(random) {
  const unit = random.pick(boundaryChars) + random.pick(['', ...boundaryChars]);
  return unit.repeat(70).slice(0, random.pick([1, 2, 3, 4, 5, 8, 20, 69, 70]));
}

// biome-ignore format: a list of words
const formPieces = (boundary) => [
  ...'\r\n- \tA:;"\\\0\xe9', '\r\n', '--', '\r\n--', '\n--', '\r--', ' '.repeat(1000), '%0A', boundary, boundary.slice(1), boundary.slice(0, -1),
  ...['', 'A', ' ', '--', '--A'].map((end) => `\r\n--${boundary}${end}`), `--${boundary}`, `\r\n--${boundary.slice(0, -1)}`,
  'a: b\r\n', 'Content-Disposition: form-data; name="a"\r\n', 'Content-Disposition: form-data; name="a"\r\n\r\n',
];

// biome-ignore format: a list of words
const jsonPieces = [
  ...'A=+/-*\\" \n\t\0\xff,:[]{}1', 'AAAA', '\\/', '\\u002F', '\\u0041', '\\u00e9', '\\ud83d', '\\n', '\\\\', '\\u', '\\"', '\xc3\xa9',
  '{"a":', '"a",', '"AAAA",', '1e', '-0', 'null,',
];

/** Returns one to four pieces as one string. The first piece may be repeated many times. */
function unitOf(random, pieces) {
  const chosen = Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces));
  chosen[0] = chosen[0].repeat(random.pick([1, 1, 1, 2, 7, 1000]));
  return chosen.join('');
}

/** Returns the strings before and after the repeated units, by the name of the place. */
function formPlaces(boundary, field) {
  const open = `--${boundary}\r\nContent-Disposition: form-data; name="${field}"`;
  const close = `\r\n--${boundary}--\r\n`;
  return {
    image: [`${open}; filename="a"\r\n\r\n`, close],
    'text field': [`${open.replace(field, 'threshold_percent')}\r\n\r\n`, close],
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
  image: [`{"${field}":"`, '"}'],
  images: [`{"${field}":["`, '"]}'],
  'open image': [`{"${field}":"`, ''],
  'list of images': [`{"${field}":["AAAA",`, '"AAAA"]}'],
  'unknown member': ['{"a":"', '"}'],
  'unknown value': ['{"a":', '}'],
  name: ['{"', '":1}'],
  number: ['{"threshold_percent":', '}'],
  start: ['', `{"${field}":"AAAA"}`],
  end: [`{"${field}":"AAAA"`, '}'],
});

/** Returns `{ what, is, path, content_type, body }` with a body of `size` bytes. */
function heavy(random, size) {
  const [path, field] = random.pick(Object.entries(fields));
  const boundary = boundaryOf(random);
  const [is, pieces, places, content_type] = random.pick([
    [
      'form',
      formPieces(boundary),
      formPlaces(boundary, field),
      `multipart/form-data; boundary="${boundary}"`,
    ],
    ['JSON', jsonPieces, jsonPlaces(field), 'application/json'],
  ]);
  const [place, [before, after]] = random.pick(Object.entries(places));
  const room = size - before.length - after.length;
  // About one body in three has two different units.
  const first = random.chance(0.3) ? random.below(room) : room;
  const units = [first, room - first].filter(Boolean).map((length) => [unitOf(random, pieces), length]);
  const shown = units.map(([unit]) => JSON.stringify(unit.slice(0, 60)));
  return {
    what: `${content_type}, ${place}: ${shown.join(' then ')}`,
    is,
    path,
    content_type,
    body: Buffer.concat([
      Buffer.from(before, 'latin1'),
      ...units.map(([unit, length]) => Buffer.alloc(length, unit, 'latin1')),
      Buffer.from(after, 'latin1'),
    ]),
  };
}

/** Returns the reference for the heavy bodies: two images of random bytes, as a form and as JSON. */
function plain(size) {
  const half = randomFillSync(Buffer.alloc(size / 2 - 1024));
  const text = half.toString('base64').slice(0, half.length);
  const json = Buffer.from(JSON.stringify({ image1: text, image2: text }));
  return [
    { is: 'form', path: match, content_type: formType, body: form({ image1: half, image2: half }) },
    { is: 'JSON', path: match, content_type: 'application/json', body: json },
  ];
}

/**
 * Sends `count` heavy bodies of `bytes` bytes, and the reference bodies. Resolves to the median CPU time of each
 * reference (`usual_ms`) and the eight slowest bodies (`slowest`, with `what`, `ms` and `ratio`). `ask(path, body,
 * content_type)` sends a body. Calls `onFault` for a 5xx response.
 */
export async function slowestOf({ count, seed, bytes, ask, pid, isDead, onFault }) {
  /** Resolves to the main thread's CPU time for one body, in milliseconds. */
  const mainMsOf = async ({ path, content_type, body, what }) => {
    const started_ms = mainThreadCpuMsOf(pid);
    const response = await ask(path, body, content_type);
    await response.arrayBuffer();
    if (response.status >= 500) onFault(`${what}: ${response.status}`);
    // Includes the work after the response, such as releasing the body.
    await sleep(20);
    return mainThreadCpuMsOf(pid) - started_ms;
  };
  const usual_ms = {};
  for (const body of plain(bytes)) {
    const all = [];
    for (let turn = 0; turn < 8; turn++) all.push(await mainMsOf(body));
    usual_ms[body.is] = quantile(all, 0.5);
  }
  const seen = [];
  for (let index = 0; index < count && !isDead(); index++) {
    progress(`${index} heavy bodies`);
    const body = heavy(Random.at(seed, index), bytes);
    const usual = usual_ms[body.is];
    let ms = await mainMsOf(body);
    // Measures a slow body up to twice more, and uses the minimum.
    for (let again = 0; again < 2 && ms > 2 * usual; again++) ms = Math.min(ms, await mainMsOf(body));
    seen.push({ what: body.what, ms: Math.round(ms), ratio: ms / usual });
  }
  return { usual_ms, slowest: seen.sort((a, b) => b.ratio - a.ratio).slice(0, 8) };
}
