#!/usr/bin/env node
/**
 * node bench/multipart.mjs [--json] [--mib N] [--rounds N]
 *
 * How fast the compiled parser goes over a body of two pictures and over hostile ones, beside what the memory
 * itself gives: a native search for bytes that are not there, and a copy. Every round runs all of them in
 * turn; the best round counts, and the spread of two equal contenders (A/A) says what a difference is worth.
 */
import { randomFillSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

const compiled = new URL('../dist/src/http/multipart.js', import.meta.url);
if (!existsSync(compiled)) {
  console.error('dist/ is not there yet; build it with: npx tsc -p .');
  process.exit(1);
}
const { parseMultipart } = await import(compiled.href);

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    mib: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '25' },
  },
});
const size = Number(flags.mib) * 2 ** 20;
const rounds = Number(flags.rounds);
const limits = { parts: 16, header_bytes: 8192 };

/** As long as the boundaries of Chrome and Safari. */
const webkit = '----WebKitFormBoundary7MA4YWxkTrZu0gWb';

function form(boundary, ...contents) {
  const pieces = contents.flatMap((content, index) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="image${index + 1}"; filename="${index + 1}.jpg"\r\n`,
    'Content-Type: image/jpeg\r\n\r\n',
    content,
    '\r\n',
  ]);
  const buffers = [...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece));
  // One unpooled buffer, as the server collects it.
  const body = Buffer.allocUnsafeSlow(buffers.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const buffer of buffers) at += buffer.copy(body, at);
  return body;
}

const picture = randomFillSync(Buffer.allocUnsafeSlow(size / 2));
const pictures = form(webkit, picture, picture);
const copy = Buffer.allocUnsafeSlow(pictures.length);
const absent = Buffer.from(`\r\n--${webkit}`.replace('7MA4', 'none'));

/** Parses, and checks that it did: the parts of a form must have been found. */
function parsing(body, boundary, parts) {
  return {
    bytes: body.length,
    run() {
      if (parseMultipart(body, boundary, limits).length !== parts) throw new Error('the form was misread');
    },
  };
}

const repeated = (text) => form('b', Buffer.alloc(size, text));

const contenders = {
  memcpy: { bytes: pictures.length, run: () => pictures.copy(copy) },
  'indexOf, bytes that are absent': { bytes: pictures.length, run: () => pictures.indexOf(absent) },
  'parse two pictures': parsing(pictures, webkit, 2),
  'parse two pictures (A/A)': parsing(pictures, webkit, 2),
  'parse two pictures, one-letter boundary': parsing(form('b', picture, picture), 'b', 2),
  'hostile: lookalikes of a one-letter boundary': parsing(repeated('\r\n--bA'), 'b', 1),
  "hostile: lookalikes of a browser's boundary": parsing(
    form(webkit, Buffer.alloc(size, `\r\n--${webkit}A`)),
    webkit,
    1,
  ),
  'hostile: CR, one-letter boundary': parsing(repeated('\r'), 'b', 1),
  'hostile: CR LF - -, one-letter boundary': parsing(repeated('\r\n--'), 'b', 1),
};

const best = Object.fromEntries(Object.keys(contenders).map((name) => [name, Number.POSITIVE_INFINITY]));
for (let round = 0; round < rounds; round++) {
  for (const [name, { run }] of Object.entries(contenders)) {
    const begin = process.hrtime.bigint();
    run();
    best[name] = Math.min(best[name], Number(process.hrtime.bigint() - begin));
  }
}

const results = Object.entries(contenders).map(([name, { bytes }]) => ({
  name,
  milliseconds: best[name] / 1e6,
  gigabytes_per_second: bytes / best[name],
}));
const report = {
  benchmark: 'multipart',
  date: new Date().toISOString(),
  cpu: cpus()[0]?.model ?? 'unknown',
  node: process.version,
  body_bytes: pictures.length,
  rounds,
  results,
};

if (flags.json) {
  console.log(JSON.stringify(report, null, 2));
} else {
  console.log(`multipart, ${flags.mib} MiB, best of ${rounds} rounds; ${report.cpu}, Node ${report.node}`);
  for (const { name, milliseconds, gigabytes_per_second } of results) {
    const [time, speed] = [milliseconds.toFixed(3).padStart(9), gigabytes_per_second.toFixed(2).padStart(8)];
    console.log(`${name.padEnd(46)} ${time} ms ${speed} GB/s`);
  }
}
