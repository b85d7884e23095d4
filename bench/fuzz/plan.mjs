// The kinds of requests, each with its weight. A kind turns a generator and the world (key, pictures) into a plan:
//   bytes    what is sent
//   expects  'ok': 200 and the known answer; 'answer': any answer except 5xx; 'end': an answer or a closed connection
//   answers  number of answers to wait for, 1 by default

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { portraits } from '../../test/support/portraits.mjs';
import { Random } from '../../test/support/random.mjs';
import { sharedData } from '../lib/setup.mjs';
import {
  builtForm,
  damagedForm,
  delimiterSoup,
  goodForm,
  manyTargets,
  mutate,
  mutatedForm,
  noise,
  oddFields,
  oddJson,
  oddQuestion,
  onePicture,
  sufferedForm,
} from './bodies.mjs';
import {
  advanced,
  detect,
  embed,
  embeddings,
  head,
  inChunks,
  lyingLengths,
  many,
  match,
  oddChunks,
  oddHeaders,
  oddRequestLines,
  strangers,
  withLength,
} from './heads.mjs';

/** Most bodies come with a length, some in chunks. */
function request(world, body, random, path, headers = {}) {
  const line = `POST ${path} HTTP/1.1`;
  return random.chance(0.2)
    ? inChunks(world, body, random, line, headers)
    : withLength(world, body, headers, line);
}

/** A form with two pictures, for any endpoint that compares them. */
const form = (make) => (random, world) => {
  const path = random.weighted([
    [match, 6],
    [advanced, 3],
    [many, 1],
  ]);
  return { bytes: request(world, make(random, world), random, path), expects: 'answer' };
};

const pipelinable = oddRequestLines.filter((line) => line.startsWith('GET '));

const kinds = {
  valid: (random, world) => ({
    bytes: request(world, goodForm(random, world), random, random.pick([match, advanced, many])),
    expects: 'ok',
  }),
  one_picture: (random, world) => ({
    bytes: request(world, onePicture(random, world), random, random.pick([detect, embed])),
    expects: 'answer',
  }),
  many_targets: (random, world) => ({
    bytes: request(world, manyTargets(random, world), random, many),
    expects: 'answer',
  }),
  odd_question: (random, world) => ({
    bytes: request(world, oddQuestion(random, world), random, embeddings, {
      'content-type': random.chance(0.95) ? 'application/json' : 'text/plain',
    }),
    expects: 'answer',
  }),
  damaged_picture: form(damagedForm),
  suffered_picture: form(sufferedForm),
  odd_fields: form(oddFields),
  odd_json: (random, world) => ({
    bytes: request(world, oddJson(random, world), random, random.pick([match, advanced, many]), {
      'content-type': 'application/json',
    }),
    expects: 'answer',
  }),
  built_form: form(builtForm),
  mutated_form: form(mutatedForm),
  noise: form(noise),
  delimiter_soup: form(delimiterSoup),
  odd_header: (random, world) => ({
    bytes: withLength(world, oddFields(random), random.pick(oddHeaders)),
    expects: 'end',
  }),
  odd_request_line: (random, world) => {
    const line = random.pick(oddRequestLines);
    const bodiless = /^(GET|HEAD|OPTIONS)/.test(line);
    return {
      bytes: bodiless ? head(world, {}, line) : withLength(world, noise(random), {}, line),
      expects: 'end',
    };
  },
  lying_length: (random, world) => {
    const body = oddFields(random);
    return {
      bytes: Buffer.concat([head(world, random.pick(lyingLengths)(body.length)), body]),
      expects: 'end',
    };
  },
  odd_chunks: (random, world) => {
    const chunks = Buffer.from(random.pick(oddChunks));
    return {
      bytes: Buffer.concat([head(world, { 'transfer-encoding': 'chunked' }), chunks]),
      expects: 'end',
    };
  },
  mutated_head: (random, world) => ({
    bytes: Buffer.concat([mutate(head(world, { 'content-length': 9 }), random), Buffer.from('some body')]),
    expects: 'end',
  }),
  stranger: (random) => ({ bytes: random.pick(strangers), expects: 'end' }),
  pipelined: (random, world) => {
    const answers = 2 + random.below(4);
    // µWS accepts another request when the one before was answered inside its callback, as these are.
    const one = () => head(world, {}, random.pick(pipelinable));
    return { bytes: Buffer.concat(Array.from({ length: answers }, one)), expects: 'end', answers };
  },
  refused_then_valid: (random, world) => ({
    bytes: Buffer.concat([
      withLength(world, noise(random), { 'content-type': 'text/plain' }),
      withLength(world, goodForm(random, world)),
    ]),
    expects: 'end',
    answers: 2,
  }),
};

/** A request with inference costs as much as a hundred others; among 100,000 requests there are still thousands of them. */
const weights = {
  valid: 2,
  one_picture: 7,
  many_targets: 3,
  odd_question: 10,
  damaged_picture: 4,
  suffered_picture: 3,
  odd_fields: 10,
  odd_json: 10,
  built_form: 18,
  mutated_form: 15,
  noise: 4,
  delimiter_soup: 2,
  odd_header: 9,
  odd_request_line: 7,
  lying_length: 6,
  odd_chunks: 3,
  mutated_head: 4,
  stranger: 1,
  pipelined: 1.5,
  refused_then_valid: 0.5,
};

/** How a client leaves: at a byte of what it sends, while it waits, or at the first byte of the answer. */
const leavings = ['sending', 'waiting', 'answering'];

/** Request number `index`, determined by the generator. */
export function plan(random, world) {
  const kind = random.weighted(Object.entries(weights));
  const made = kinds[kind](random, world);
  const { bytes } = made;
  const leaves = random.chance(0.12) ? random.pick(leavings) : undefined;
  // A client that has to wait leaves, mostly soon; a few stay until the server's timeouts end the connection.
  const patient = made.expects !== 'end' || random.chance(0.1);
  const cuts = Array.from({ length: random.chance(0.5) ? 0 : random.below(5) }, () =>
    random.below(bytes.length + 1),
  );
  return {
    answers: 1,
    ...made,
    kind,
    leaves,
    leavesAt: random.below(bytes.length + 1),
    patience_ms: patient ? undefined : 100 + random.below(900),
    resets: random.chance(0.5),
    cuts: cuts.sort((a, b) => a - b),
  };
}

// Its pictures: valid ones and a corpus of damaged ones.

/** Larger pictures cost time and test nothing more. */
const most_bytes = 300_000;

/** Files of the shared corpus; none when there is no such folder. */
function corpus() {
  const folder = sharedData('corrupt');
  if (folder === undefined) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .filter((bytes) => bytes.length <= most_bytes);
}

/** Kinds of pictures that decoders had bugs with, made here and then damaged. */
async function drawn(seed) {
  const base = () =>
    sharp({
      create: { width: 90, height: 70, channels: 4, background: { r: 200, g: 120, b: 40, alpha: 0.5 } },
    });
  const made = await Promise.all([
    base().jpeg({ progressive: true }).toBuffer(),
    base().jpeg({ chromaSubsampling: '4:4:4', quality: 5 }).toBuffer(),
    base().grayscale().jpeg().toBuffer(),
    base().toColourspace('cmyk').jpeg().toBuffer(),
    base().withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    base().png({ palette: true }).toBuffer(),
    base().png({ progressive: true }).toBuffer(),
    base().toColourspace('rgb16').png().toBuffer(),
    base().webp({ lossless: true }).toBuffer(),
    base().webp({ quality: 1 }).toBuffer(),
    base().gif().toBuffer(),
    base().tiff().toBuffer(),
  ]);
  const random = new Random(seed);
  return made.flatMap((bytes) => [bytes, ...Array.from({ length: 10 }, () => mutate(bytes, random))]);
}

/** { good, damaged, from_corpus }: lists of bytes, and how many of the damaged ones are from the shared corpus. */
export async function fuzzPictures(seed) {
  const formats = ['jpeg', 'png', 'webp'];
  const good = await portraits(formats.map((format) => ({ width: 200, height: 200, format })));
  const files = corpus();
  return {
    good: good.map(({ bytes }) => bytes),
    damaged: [...files, ...(await drawn(seed))],
    from_corpus: files.length,
  };
}
