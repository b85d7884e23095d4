import { z } from 'zod';
import { accuracyModes } from '../engine/addon.ts';
import { JsonScan } from '../engine/json-scan.ts';
import type { WorkerTools } from '../engine/pool.ts';
import { Problem, sentWords } from '../errors.ts';
import { type Similarity, similarityOf } from '../scoring/similarity.ts';
import { optionRules } from './options.ts';

/** An embedding is compared with at most so many at once. */
export const maxCandidates = 1000;
export const maxJson_bytes = 4 * 1024 * 1024;

const maxId_characters = 128;

const text = (most: number, expected: string) => z.string({ error: expected }).max(most, { error: expected });
const number = (min: number, max: number, kind: 'a number' | 'a whole number') => {
  const error = `${kind} from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`;
  const base = kind === 'a number' ? z.number({ error }) : z.int({ error });
  return base.min(min, { error }).max(max, { error });
};
const base64 = z
  .string({ error: 'an embedding in base64' })
  .describe('Numbers in the encoding that embed gives: little-endian 32-bit floats, in base64');
const { threshold_percent } = optionRules;

const candidatesExpected = `a list of 1 to ${maxCandidates} candidates`;

/** The request's body; the docs are generated from it too. */
export const EmbeddingsRequest = z.object(
  {
    embedding: base64,
    candidates: z
      .array(
        z.object(
          {
            id: text(maxId_characters, `a text of up to ${maxId_characters} characters`).describe(
              'Comes back with the result',
            ),
            embedding: base64,
          },
          { error: 'an object with "id" and "embedding"' },
        ),
        { error: candidatesExpected },
      )
      .min(1, { error: candidatesExpected })
      .max(maxCandidates, { error: candidatesExpected })
      .describe('What it is compared with'),
    pack: text(200, "the model pack's name, as embed answered").describe('The pack that all of them are of'),
    version: text(200, "the model pack's version, as embed answered").describe('Its version'),
    accuracy_mode: z
      .enum(accuracyModes, { error: `one of ${accuracyModes.join(', ')}` })
      .describe('The mode that all of them were made in'),
    threshold_percent: number(threshold_percent.min, threshold_percent.max, 'a number')
      .default(threshold_percent.default)
      .describe(threshold_percent.description),
    searched: number(1, 1e12, 'a whole number')
      .optional()
      .describe(
        'Among how many the candidates were found: each false_match_rate is multiplied by it. By default the number of candidates',
      ),
    min_percent: number(0, 100, 'a number').default(0).describe('Results below are left out'),
    limit: number(1, maxCandidates, 'a whole number').default(100).describe('Most results'),
  },
  { error: 'an object' },
);

/** One embedding against many: the request's body → similarities. Runs in a worker, because a thousand would hold the main thread up. */

/** How far the length of a unit vector may be from 1. */
const lengthTolerance = 1e-3;

/** Members and items of the whole body: some hundred for each candidate, of which two are read. */
const maxValues = 100 * maxCandidates;

/** At most this many unknown members are named, so that the answer stays smaller than the request. */
const maxNamed = 16;

/** What a worker loads. */
export const rankingModule = new URL('./rank-embeddings.js', import.meta.url).href;

export interface EmbeddingsJob {
  /** JSON, in shared memory. */
  body: Uint8Array;
  /** The pack of this server: only its embeddings can be compared. */
  pack: string;
  version: string;
  dimensions: number;
}

export interface RankedEmbeddings {
  /** What was asked, but for the embeddings; `searched` is the number of candidates unless it was sent. */
  values: Pick<
    z.output<typeof EmbeddingsRequest>,
    'accuracy_mode' | 'threshold_percent' | 'min_percent' | 'limit'
  > & {
    searched: number;
  };
  /** Unknown members, the first 16 of them. */
  unknown: string[];
  /** Best first. */
  candidates: ({ id: string } & Similarity)[];
}

/** For `Engine.work`. Throws Problem. */
export function work(
  { body, pack, version, dimensions }: EmbeddingsJob,
  { cohortScores, check }: WorkerTools,
): RankedEmbeddings {
  // A copy in memory of this thread, which is read faster and has methods that shared memory lacks.
  const bytes = Buffer.from(body);
  let json: unknown;
  try {
    checkJson(bytes);
    check();
    json = withoutEmpty(JSON.parse(bytes.toString()));
    check();
  } finally {
    bytes.fill(0);
  }
  const parsed = EmbeddingsRequest.safeParse(json);
  if (!parsed.success) throw invalidMember(parsed.error.issues[0]!, json);
  const { embedding, candidates, searched = candidates.length, ...asked } = parsed.data;
  if (asked.pack !== pack || asked.version !== version) {
    throw new Problem('embedding_mismatch', {
      expected: `${pack} ${version}`,
      given: `${asked.pack} ${asked.version}`,
    });
  }
  const vectors = new Float32Array((1 + candidates.length) * dimensions);
  const of = (row: number) => vectors.subarray(row * dimensions, (row + 1) * dimensions);
  readVector(embedding, of(0), '/embedding');
  for (const [index, candidate] of candidates.entries()) {
    check();
    readVector(candidate.embedding, of(index + 1), `/candidates/${index}/embedding`);
  }
  const scores = cohortScores(vectors);
  const embedded = (row: number) => ({ embedding: of(row), cohort_score: scores[row]! });
  const query = embedded(0);
  const ranked = candidates.map(({ id }, index) => ({ id, ...similarityOf(query, embedded(index + 1)) }));
  const { accuracy_mode, threshold_percent, min_percent, limit } = asked;
  return {
    values: { accuracy_mode, threshold_percent, searched, min_percent, limit },
    unknown: unknownMembers(json as object),
    candidates: ranked.sort((a, b) => b.normalised_similarity - a.normalised_similarity),
  };
}

/**
 * Form, depth and count are checked before anything is made of the body: to parse millions of tokens, or as many levels, takes a worker
 * a second. Throws Problem with the position of the first fault, which V8 does not always tell.
 */
function checkJson(bytes: Buffer): void {
  const json = new JsonScan(bytes, Number.POSITIVE_INFINITY, maxValues);
  const readCandidates = () => {
    let count = 0;
    json.array(() => {
      if (++count > maxCandidates) throw wrongMember('/candidates', candidatesExpected);
      json.skip();
    });
  };
  if (json.peek() !== '{') json.skip();
  else json.object((name) => (name === 'candidates' && json.peek() === '[' ? readCandidates() : json.skip()));
  json.end();
}

/** An optional member that is empty means its default. */
function withoutEmpty(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const members = json as Record<string, unknown>;
  for (const [name, rule] of Object.entries(EmbeddingsRequest.shape)) {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    if ((value === null || value === '') && rule.safeParse(undefined).success) delete members[name];
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

const wrongMember = (field: string, expected: string, instead = '') =>
  new Problem('invalid_field', {
    detail: `Send ${expected} as ${field === '' ? 'the body' : field}${instead}.`,
    field,
    expected,
  });

function invalidMember({ path, message }: z.core.$ZodIssue, json: unknown): Problem {
  const field = path.map((step) => `/${String(step)}`).join('');
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  const sent = path.reduce((value: any, step) => value?.[step], json);
  const instead = sent === undefined || field === '' ? '' : `, not ${sentWords(sent)}`;
  return wrongMember(field, message, instead);
}

/** Decodes base64 into `vector`. Throws Problem invalid_embedding unless it is a unit vector of the same length. */
function readVector(base64: string, vector: Float32Array, field: string): void {
  const bytes = Buffer.from(base64, 'base64');
  const refuse = (what: string) =>
    new Problem('invalid_embedding', { detail: `Send the embedding as embed gave it: ${what}.`, field });
  if (bytes.length !== 4 * vector.length) {
    throw refuse(`it has ${bytes.length} bytes in base64, and ${4 * vector.length} are expected`);
  }
  let squares = 0;
  for (let i = 0; i < vector.length; i++) {
    const value = bytes.readFloatLE(4 * i);
    vector[i] = value;
    squares += value * value;
  }
  // Written so that NaN fails too.
  if (!(Math.abs(Math.sqrt(squares) - 1) <= lengthTolerance)) throw refuse('its length is not 1');
}
