// Plans random requests, and creates the images that they send.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { portraits } from '../../test/support/portraits.mjs';
import { Random } from '../../test/support/random.mjs';
import { sharedData } from '../lib/setup.mjs';
import * as bodies from './bodies.mjs';
import * as headerCases from './headers.mjs';

const { advanced, detect, embed, embeddings, requestHeaders, many, match, withLength } = headerCases;

/** Returns a generator of requests to `paths`. Most bodies have a Content-Length, and some are chunked. */
const post = (make, paths, headers) => (random, world) => {
  const body = make(random, world);
  const line = `POST ${random.pick(paths)} HTTP/1.1`;
  return random.chance(0.2)
    ? headerCases.inChunks(world, body, random, line, headers)
    : withLength(world, body, headers, line);
};

const toMatch = (make) =>
  post(make, [match, match, match, match, match, match, advanced, advanced, advanced, many]);
const asJson = { 'content-type': 'application/json' };
const pipelinable = headerCases.oddRequestLines.filter((line) => line.startsWith('GET '));

/**
 * Each kind of request has a weight, a generator of its bytes, and an expected result. Kinds with inference have low
 * weights, because they take about a hundred times as long as others.
 *   'ok'        200
 *   'response'  any response except 500
 *   a number    at most this number of responses (default 1), none of them 500
 */
const kinds = {
  valid: [2, post(bodies.goodForm, [match, advanced, many]), 'ok'],
  one_image: [7, post(bodies.oneImage, [detect, embed]), 'response'],
  many_targets: [3, post(bodies.manyTargets, [many]), 'response'],
  odd_embeddings_request: [9.5, post(bodies.oddEmbeddingsRequest, [embeddings], asJson), 'response'],
  embeddings_request_as_text: [
    0.5,
    post(bodies.oddEmbeddingsRequest, [embeddings], { 'content-type': 'text/plain' }),
    'response',
  ],
  damaged_image: [4, toMatch(bodies.damagedForm), 'response'],
  mutated_image: [3, toMatch(bodies.mutatedImageForm), 'response'],
  odd_fields: [10, toMatch(bodies.oddFields), 'response'],
  odd_json: [10, post(bodies.oddJson, [match, advanced, many], asJson), 'response'],
  mutated_form: [15, toMatch(bodies.mutatedForm), 'response'],
  noise: [4, toMatch(bodies.noise), 'response'],
  odd_header: [
    9,
    (random, world) => withLength(world, bodies.oddFields(random), random.pick(headerCases.oddHeaders)),
  ],
  odd_request_line: [
    7,
    (random, world) => {
      const line = random.pick(headerCases.oddRequestLines);
      const bodiless = /^(GET|HEAD|OPTIONS)/.test(line);
      return bodiless ? requestHeaders(world, {}, line) : withLength(world, bodies.noise(random), {}, line);
    },
  ],
  lying_length: [
    6,
    (random, world) => {
      const body = bodies.oddFields(random);
      return Buffer.concat([requestHeaders(world, random.pick(headerCases.lyingLengths)(body.length)), body]);
    },
  ],
  odd_chunks: [
    3,
    (random, world) =>
      Buffer.concat([
        requestHeaders(world, { 'transfer-encoding': 'chunked' }),
        Buffer.from(random.pick(headerCases.oddChunks)),
      ]),
  ],
  mutated_headers: [
    4,
    (random, world) =>
      Buffer.concat([
        bodies.mutate(requestHeaders(world, { 'content-length': 9 }), random),
        Buffer.from('some body'),
      ]),
  ],
  other_protocol: [1, (random) => random.pick(headerCases.otherProtocols)],
  // Only GET requests, because µWS accepts a pipelined request only after a request that was completed synchronously.
  pipelined: [
    1.5,
    (random, world) =>
      Buffer.concat(Array.from({ length: 4 }, () => requestHeaders(world, {}, random.pick(pipelinable)))),
    4,
  ],
  rejected_then_valid: [
    0.5,
    (random, world) =>
      Buffer.concat([
        withLength(world, bodies.noise(random), { 'content-type': 'text/plain' }),
        withLength(world, bodies.goodForm(random, world)),
      ]),
    2,
  ],
};
const weights = Object.entries(kinds).map(([kind, [weight]]) => [kind, weight]);

/**
 * Returns a random request: its kind, expected result and bytes, and where they are cut. `leaves` says when the
 * client disconnects: while sending (at `leavesAt`), while waiting, or at the first byte of the response. Otherwise
 * it disconnects after the last response or after `patience_ms`.
 */
export function plan(random, world) {
  const kind = random.weighted(weights);
  const [, make, expected = 1] = kinds[kind];
  const bytes = make(random, world);
  const somewhere = () => random.below(bytes.length + 1);
  const expects = typeof expected === 'number' ? 'end' : expected;
  // Most clients that may get no response disconnect soon. A few wait for the server's timeouts.
  const patient = expects !== 'end' || random.chance(0.1);
  return {
    kind,
    expects,
    bytes,
    responses: expects === 'end' ? expected : 1,
    leaves: random.chance(0.12) ? random.pick(['sending', 'waiting', 'responding']) : undefined,
    leavesAt: somewhere(),
    patience_ms: patient ? undefined : 100 + random.below(900),
    resets: random.chance(0.5),
    cuts: Array.from({ length: random.pick([0, 0, 0, 1, 2, 4]) }, somewhere).sort((a, b) => a - b),
  };
}

/** Maximum size of a file of the corpus, in bytes. Larger files take more time and test nothing else. */
const max_bytes = 300_000;

/** Returns the files of the shared corpus; empty if the folder does not exist. */
function corpus() {
  const folder = sharedData('corrupt');
  if (folder === undefined) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .filter((bytes) => bytes.length <= max_bytes);
}

/** Creates images of unusual kinds, and damaged copies of them. */
async function generatedImages(seed) {
  const create = { width: 90, height: 70, channels: 4, background: { r: 200, g: 120, b: 40, alpha: 0.5 } };
  const image = sharp({ create });
  const files = [
    image.clone().jpeg({ progressive: true }),
    image.clone().jpeg({ chromaSubsampling: '4:4:4', quality: 5 }),
    image.clone().grayscale().jpeg(),
    image.clone().toColourspace('cmyk').jpeg(),
    image.clone().withMetadata({ orientation: 6 }).jpeg(),
    image.clone().png({ palette: true }),
    image.clone().png({ progressive: true }),
    image.clone().toColourspace('rgb16').png(),
    image.clone().webp({ lossless: true }),
    image.clone().webp({ quality: 1 }),
    image.clone().gif(),
    image.clone().tiff(),
  ];
  const made = await Promise.all(files.map((file) => file.toBuffer()));
  const random = new Random(seed);
  return made.flatMap((bytes) => [bytes, ...Array.from({ length: 10 }, () => bodies.mutate(bytes, random))]);
}

/** Resolves to lists of valid and damaged images, and the number of damaged images from the shared corpus. */
export async function fuzzImages(seed) {
  const good = await portraits(
    ['jpeg', 'png', 'webp'].map((format) => ({ width: 200, height: 200, format })),
  );
  const files = corpus();
  return {
    good: good.map(({ bytes }) => bytes),
    damaged: [...files, ...(await generatedImages(seed))],
    from_corpus: files.length,
  };
}
