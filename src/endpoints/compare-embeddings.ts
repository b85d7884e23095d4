import { z } from 'zod';
import { accuracyModes } from '../engine/addon.ts';
import { describeSent, shortName } from '../engine/client-input.ts';
import { holdsImage } from '../engine/file-kind.ts';
import type { WorkerTools } from '../engine/jobs.ts';
import { JsonScan } from '../engine/json-scan.ts';
import type { Steps } from '../engine/turns.ts';
import { Problem } from '../errors.ts';
import { type Person, personsOf } from '../scoring/persons.ts';
import { dot, type Similarity, similarityOf } from '../scoring/similarity.ts';
import { optionRules } from './options.ts';

export const maxCandidates = 1000;
export const maxEmbeddings = 16;
export const maxJson_bytes = 4 * 1024 * 1024;

const maxId_characters = 128;

const text = (max: number, expected: string) => z.string({ error: expected }).max(max, { error: expected });
const number = (min: number, max: number, kind: 'a number' | 'a whole number') => {
  const error = `${kind} from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`;
  const base = kind === 'a number' ? z.number({ error }) : z.int({ error });
  return base.min(min, { error }).max(max, { error });
};
const base64 = z
  .string({ error: 'an embedding in base64' })
  .describe('Embedding as returned by the embed endpoint: little-endian 32-bit floats in base64');
const listOf = <Item extends z.ZodType>(item: Item, max: number, error: string) =>
  z.array(item, { error }).min(1, { error }).max(max, { error });
/** Exactly one of these members is required. */
const person = {
  embedding: base64.optional(),
  embeddings: listOf(base64, maxEmbeddings, `a list of 1 to ${maxEmbeddings} embeddings`)
    .optional()
    .describe(
      'Alternative to `embedding`: embeddings of several photos of one person, compared by their mean',
    ),
};
const { threshold_percent, min_agreement_percent } = optionRules;

const candidatesExpected = `a list of 1 to ${maxCandidates} candidates`;

const Candidate = z.object(
  {
    id: text(maxId_characters, `a string of up to ${maxId_characters} characters`).describe(
      'Returned with the result',
    ),
    ...person,
  },
  { error: 'an object with "id" and "embedding" or "embeddings"' },
);

/** The request body. The API documents are generated from this schema too. */
export const EmbeddingsRequest = z.object(
  {
    ...person,
    candidates: listOf(Candidate, maxCandidates, candidatesExpected).describe('Candidates to compare with'),
    pack: text(200, 'the name of the model pack, as returned by embed').describe(
      'Name of the model pack that computed all embeddings',
    ),
    version: text(200, 'the version of the model pack, as returned by embed').describe(
      'Version of the model pack',
    ),
    accuracy_mode: z
      .enum(accuracyModes, { error: `one of ${accuracyModes.join(', ')}` })
      .describe('Accuracy mode in which all embeddings were computed'),
    threshold_percent: number(threshold_percent.min, threshold_percent.max, 'a number')
      .default(threshold_percent.default)
      .describe(threshold_percent.description),
    min_agreement_percent: number(min_agreement_percent.min, min_agreement_percent.max, 'a number')
      .default(min_agreement_percent.default)
      .describe(
        'If a person has several embeddings: minimum `confidence_percent` of each compared with the mean of the others. A candidate below it is not compared; if the probe is below it, the request is rejected (422 `photos_disagree`). 0 accepts all',
      ),
    searched: number(1, 1e12, 'a whole number')
      .optional()
      .describe(
        'Size of the gallery in which the candidates were found; each `false_match_rate` is multiplied by it. Default: the number of candidates',
      ),
    min_percent: number(0, 100, 'a number')
      .default(0)
      .describe('Minimum `confidence_percent` of returned results'),
    limit: number(1, maxCandidates, 'a whole number')
      .default(100)
      .describe('Maximum number of returned comparisons; candidates with a `problem` are added'),
  },
  { error: 'an object' },
);

/** Maximum deviation of a unit vector's length from 1. */
const lengthTolerance = 1e-3;

/** Maximum number of members and items in the whole body, with a margin for unknown members of candidates. */
const maxValues = 100 * maxCandidates;

/** Maximum number of unknown members in the warnings, so that the response stays smaller than the request. */
const maxNamed = 16;

export interface EmbeddingsInput {
  /** JSON text in shared memory. */
  body: Uint8Array;
  /** The pack of this server. Embeddings of other packs are rejected. */
  pack: string;
  version: string;
  dimensions: number;
}

export interface ComparedEmbeddings {
  /** The request without the probe and the candidates. `searched` defaults to the number of candidates. */
  values: Omit<z.output<typeof EmbeddingsRequest>, keyof typeof person | 'candidates'> & { searched: number };
  /** The first unknown members of the body, at most `maxNamed`. */
  unknown: string[];
  /** Normalised similarity of each probe embedding with the mean of the others; empty for a single embedding. */
  agreements: readonly number[];
  /** Results in the order sent. Their similarities are not yet shifted for the number of photos. */
  candidates: ({ id: string } & Similarity & Pick<Person, 'agreements'>)[];
}

/**
 * The worker job `embeddings`: parses the body and computes the similarities. A thousand candidates would block the
 * main thread. Throws Problem.
 */
export function compareEmbeddings(
  { body, pack, version, dimensions }: EmbeddingsInput,
  tools: WorkerTools,
): ComparedEmbeddings {
  const { check } = tools;
  // Copies the bytes, because shared memory is slower to read, and some methods reject it.
  const bytes = Buffer.from(body);
  let json: unknown;
  try {
    for (const _step of checkJson(bytes)) check();
    check();
    json = withoutEmpty(JSON.parse(bytes.toString()));
    check();
  } finally {
    bytes.fill(0);
  }
  const parsed = EmbeddingsRequest.safeParse(json);
  if (!parsed.success) throw invalidMember(parsed.error.issues[0]!, json);
  const { embedding, embeddings, candidates, searched = candidates.length, ...request } = parsed.data;
  if (request.pack !== pack || request.version !== version) {
    throw new Problem('embedding_mismatch', {
      expected: `${pack} ${version}`,
      given: `${request.pack} ${request.version}`,
    });
  }
  const people = [{ embedding, embeddings }, ...candidates].map((sent, at) => {
    check();
    return readVectors(sent, at === 0 ? '' : `/candidates/${at - 1}`, dimensions);
  });
  const [query, ...others] = personsOf(people, tools) as [Person, ...Person[]];
  return {
    values: { ...request, searched },
    unknown: unknownMembers(json as object),
    agreements: query.agreements,
    candidates: others.map((other, at) => ({
      id: candidates[at]!.id,
      ...similarityOf(query, other),
      agreements: other.agreements,
    })),
  };
}

/**
 * Checks syntax, depth and number of values, because JSON.parse takes about a second for millions of tokens or levels.
 * Throws Problem for too many candidates, for an image, and for invalid JSON, with the position that V8 may omit.
 */
function* checkJson(bytes: Buffer): Steps<void> {
  const json = new JsonScan(bytes, Number.POSITIVE_INFINITY, maxValues);
  const skipUnknown = (pointer: string) =>
    json.skip((start) => {
      if (holdsImage(bytes.subarray(start))) throw unknownFile(pointer);
    });
  function* checkCandidates(): Steps<void> {
    for (const index of json.items()) {
      if (index === maxCandidates) throw unexpectedMember('/candidates', candidatesExpected);
      if (json.peek() !== '{') yield* json.skip();
      else
        for (const name of json.members())
          yield* Object.hasOwn(Candidate.shape, name)
            ? json.skip()
            : skipUnknown(`/candidates/${index}/${name}`);
    }
  }
  if (json.peek() !== '{') yield* json.skip();
  else
    for (const name of json.members()) {
      if (name === 'candidates' && json.peek() === '[') yield* checkCandidates();
      else yield* Object.hasOwn(EmbeddingsRequest.shape, name) ? json.skip() : skipUnknown(`/${name}`);
    }
  json.end();
}

/** An image in an unknown member is an error, because the client might assume that the image was compared. */
const unknownFile = (pointer: string) =>
  new Problem('unknown_file', {
    detail:
      'This endpoint compares embeddings and accepts no images. Get the embedding of an image from embed.',
    field: shortName(pointer),
  });

const optionalIn = ({ shape }: z.ZodObject) =>
  Object.keys(shape).filter((name) => (shape[name] as z.ZodType).safeParse(undefined).success);
const optional = { body: optionalIn(EmbeddingsRequest), candidate: optionalIn(Candidate) };

/** Removes optional members that are null or empty. Keeps an empty embedding, which is an error. */
function withoutEmpty(json: unknown, names = optional.body): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const members = json as Record<string, unknown>;
  for (const name of names) {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    if (value === null || (value === '' && !Object.hasOwn(person, name))) delete members[name];
  }
  const { candidates } = members;
  if (names === optional.body && Array.isArray(candidates)) {
    for (const candidate of candidates) withoutEmpty(candidate, optional.candidate);
  }
  return json;
}

function unknownMembers(json: object): string[] {
  const unknown: string[] = [];
  for (const name in json) {
    if (!Object.hasOwn(EmbeddingsRequest.shape, name)) unknown.push(name);
    if (unknown.length === maxNamed) break;
  }
  return unknown;
}

const unexpectedMember = (field: string, expected: string, instead = '') =>
  new Problem('invalid_field', {
    detail: `Send ${expected} as ${field === '' ? 'the body' : field}${instead}.`,
    field,
    expected,
  });

function invalidMember({ path, message }: z.core.$ZodIssue, json: unknown): Problem {
  const field = path.map((step) => `/${String(step)}`).join('');
  // biome-ignore lint/suspicious/noExplicitAny: clients may send any value
  const sent = path.reduce((value: any, step) => value?.[step], json);
  const instead = sent === undefined || field === '' ? '' : `, not ${describeSent(sent)}`;
  return unexpectedMember(field, message, instead);
}

/**
 * Returns the embeddings of one person. `place`: JSON pointer to the person. Throws Problem unless exactly one of
 * `embedding` and `embeddings` is present and all vectors are valid.
 */
function readVectors(
  { embedding, embeddings }: Pick<z.output<typeof EmbeddingsRequest>, keyof typeof person>,
  place: string,
  dimensions: number,
): Float32Array[] {
  if ((embedding === undefined) === (embeddings === undefined)) {
    const which = 'either embedding or embeddings';
    const both = embedding === undefined ? '' : ', not both';
    throw new Problem('invalid_field', {
      detail: `Send ${which} in ${place || 'the body'}${both}.`,
      field: `${place}/embedding`,
      expected: which,
    });
  }
  return embedding === undefined
    ? embeddings!.map((one, at) => readVector(one, dimensions, `${place}/embeddings/${at}`))
    : [readVector(embedding, dimensions, `${place}/embedding`)];
}

/** Decodes base64. Throws Problem invalid_embedding unless the vector has unit length and `dimensions` values. */
function readVector(base64: string, dimensions: number, field: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  const reject = (what: string) =>
    new Problem('invalid_embedding', {
      detail: `Send the embedding unchanged, as embed returned it: ${what}.`,
      field,
    });
  if (bytes.length !== 4 * dimensions) {
    throw reject(`it decodes to ${bytes.length} bytes instead of ${4 * dimensions}`);
  }
  // The slice is aligned, as Float32Array requires. All supported CPUs are little-endian.
  const vector = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const squares = dot(vector, vector);
  // The condition is negated so that NaN fails too.
  if (!(Math.abs(Math.sqrt(squares) - 1) <= lengthTolerance)) throw reject('its length is not 1');
  return vector;
}
