// The kinds of requests and the images that they send.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { portraits } from '../../test/support/portraits.mjs';
import { Random } from '../../test/support/random.mjs';
import { sharedData } from '../lib/setup.mjs';
import * as bodies from './bodies.mjs';
import * as headerCases from './headers.mjs';

const { advanced, detect, embed, embeddings, requestHeaders, many, match, withLength } = headerCases;

/** A request to one of `paths`. Most bodies come with a length, some in chunks. */
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
 * Each kind has a weight, a generator of its bytes from the world (key, images), and an expected result. A request with inference
 * costs as much as a hundred others; among 100,000 requests there are still thousands of them.
 *   ok        200
 *   response  any response except 5xx
 *   a number  so many responses, or a closed connection; without it one
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
  suffered_image: [3, toMatch(bodies.sufferedForm), 'response'],
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
  unknown_sender: [1, (random) => random.pick(headerCases.unknownSenders)],
  // µWS accepts another request if the one before was completed inside its callback, as these are.
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
 * A request, determined by the generator: its kind, its expected result, its bytes and where they are cut,
 * and how the client leaves: at a byte of its request, while it waits, at the first byte of the response, or
 * after its patience.
 */
export function plan(random, world) {
  const kind = random.weighted(weights);
  const [, make, expected = 1] = kinds[kind];
  const bytes = make(random, world);
  const somewhere = () => random.below(bytes.length + 1);
  const expects = typeof expected === 'number' ? 'end' : expected;
  // A client that has to wait leaves, mostly soon; a few stay until the server's timeouts end the connection.
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

/** Larger ones cost time and test nothing more. */
const most_bytes = 300_000;

/** Returns files of the shared corpus; none if there is no such folder. */
function corpus() {
  const folder = sharedData('corrupt');
  if (folder === undefined) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .filter((bytes) => bytes.length <= most_bytes);
}

/** Kinds of images that decoders had bugs with, made here and then damaged. */
async function drawn(seed) {
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

/**
 * { good, damaged, from_corpus }: lists of bytes, and how many of the damaged ones are from the shared
 * corpus.
 */
export async function fuzzImages(seed) {
  const good = await portraits(
    ['jpeg', 'png', 'webp'].map((format) => ({ width: 200, height: 200, format })),
  );
  const files = corpus();
  return {
    good: good.map(({ bytes }) => bytes),
    damaged: [...files, ...(await drawn(seed))],
    from_corpus: files.length,
  };
}
