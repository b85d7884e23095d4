// Measures the CPU time for the most expensive bodies of the maximum size: for the whole body, and for the longest
// turn of the event loop.
//   node bench/body-turns.mjs [--mib 20] [--rounds 5] [--json]
// --mib     FACEMATCH_MAX_BODY_BYTES in MiB
import { randomFillSync } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FormRules } from '../dist/src/endpoints/form.js';
import { readJsonForm } from '../dist/src/endpoints/json-form.js';
import { match } from '../dist/src/endpoints/match.js';
import { matchMany } from '../dist/src/endpoints/match-many.js';
import { loadAddon } from '../dist/src/engine/load-addon.js';
import { turn_cost } from '../dist/src/engine/turns.js';
import { jsonLimit } from '../dist/src/http/body/kinds.js';
import { parseMultipart } from '../dist/src/http/body/multipart.js';
import { form } from '../test/support/load.mjs';
import { claim, flags, MiB, quantile, report, round1 } from '../test/support/report.mjs';

const options = flags({ mib: 20, rounds: 5, json: false });
const max_turn_ms = 20;
const max_body_bytes = options.mib * MiB;
const limits = { max_parts: 16, max_field_bytes: 1024, max_image_bytes: max_body_bytes };
const json_bytes = jsonLimit({ max_body_bytes, upload_memory_bytes: Math.max(256 * MiB, max_body_bytes) });
const { decodeBase64 } = loadAddon();

const images = (count) => {
  const length = Math.floor((json_bytes - 1024) / count / 4) * 4;
  const text = randomFillSync(Buffer.alloc((length / 4) * 3)).toString('base64');
  return Array(count).fill(text);
};
const pair = ([image1, image2]) => JSON.stringify({ image1, image2 });
const unknown = (unit) => `{"a":"${unit.repeat((json_bytes - 64) / unit.length)}"}`;

const json = {
  'two images': [match, () => pair(images(2))],
  'two images with escapes': [
    match,
    () =>
      pair(images(2))
        .replaceAll('/', '\\/')
        .slice(0, json_bytes - 2),
  ],
  'seventeen images': [
    matchMany,
    () => {
      const [image1, ...image2] = images(17);
      return JSON.stringify({ image1, image2 });
    },
  ],
  'unknown member of plain text': [match, () => unknown('x')],
  'unknown member of escapes': [match, () => unknown('\\/')],
  'unknown member of numbered escapes': [match, () => unknown('\\u00e9')],
  'an image that does not end': [match, () => `{"image1":"${'A'.repeat(json_bytes - 64)}`],
  'an image that is too large': [match, () => `{"image1":"${'A'.repeat(json_bytes - 64)}"}`, 1024],
  '21,000 empty strings': [match, () => `{"a":[${'"",'.repeat(21_000)}""]}`],
  '32,000 numbers': [match, () => `{"a":[${'1,'.repeat(32_000)}1]}`],
};
const forms = {
  'two images, as a form': () => {
    const image = randomFillSync(Buffer.alloc(max_body_bytes / 2 - 1024));
    return [form({ image1: image, image2: image }), 'facematch-load-boundary'];
  },
  'CR alone, and a short boundary': () => [
    Buffer.from(
      `--b\r\nContent-Disposition: form-data; name="image1"\r\n\r\n${'\r'.repeat(max_body_bytes - 128)}\r\n--b--`,
    ),
    'b',
  ],
};

/** Copies a string or bytes into growable shared memory, like the server's body buffers. */
function shared(text) {
  const bytes = Buffer.from(text);
  const memory = new SharedArrayBuffer(bytes.length, { maxByteLength: bytes.length });
  const body = Buffer.from(memory, 0, bytes.length);
  body.set(bytes);
  return body;
}

const cases = [
  ...Object.entries(json).map(([what, [endpoint, make, max_image_bytes]]) => {
    const rules = new FormRules(endpoint);
    const within = { ...limits, ...(max_image_bytes && { max_image_bytes }) };
    const pack = { min_det_score: 0.7 };
    return [what, () => shared(make()), (body) => readJsonForm(body, rules, within, pack, decodeBase64)];
  }),
  ...Object.entries(forms).map(([what, make]) => {
    const [bytes, boundary] = make();
    const parts = { parts: 16, header_bytes: 8192 };
    return [what, () => shared(bytes), (body) => parseMultipart(body, boundary, parts)];
  }),
];

setFlagsFromString('--expose-gc');
/** Runs before each measurement, because creating the bodies leaves garbage. */
const collectGarbage = runInNewContext('gc');

/** Calls `run`, and returns its CPU time in milliseconds. */
function cpuMs(run) {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Runs one turn. Returns false if the body has been read completely or was rejected. */
function turn(steps) {
  for (let cost = 0; cost < turn_cost; ) {
    try {
      const { done, value } = steps.next();
      if (done) return false;
      cost += value;
    } catch {
      return false;
    }
  }
  return true;
}

const table = [];
for (const [what, make, read] of cases) {
  const [wholes, longest] = [[], []];
  let turns;
  for (let round = 0; round <= options.rounds; round++) {
    const once = read(make());
    collectGarbage();
    const whole_ms = cpuMs(() => {
      while (turn(once)) {}
    });
    const steps = read(make());
    const times = [];
    collectGarbage();
    for (let hasNext = true; hasNext; )
      times.push(
        cpuMs(() => {
          hasNext = turn(steps);
        }),
      );
    // The first round warms up.
    if (round === 0) continue;
    wholes.push(whole_ms);
    longest.push(Math.max(...times));
    turns = times.length;
  }
  const [whole_ms, longest_ms] = [wholes, longest].map((all) => round1(quantile(all, 0.5)));
  table.push({ what, whole_ms, turns, longest_ms });
  if (!options.json) console.log(JSON.stringify(table.at(-1)));
}
const worst = table.toSorted((a, b) => b.longest_ms - a.longest_ms)[0];
report({
  title: `Reading the most expensive bodies of ${options.mib} MiB, in turns of the event loop`,
  facts: { table },
  claims: [
    claim(
      'CPU time of the longest turn in ms, median over rounds',
      `${worst.longest_ms} (${worst.what})`,
      `at most ${max_turn_ms}`,
      worst.longest_ms <= max_turn_ms,
    ),
  ],
  json: options.json,
});
