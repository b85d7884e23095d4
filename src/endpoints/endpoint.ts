import type { z } from 'zod';
import type { EndpointId } from '../config/config.ts';
import type { AnalyseOptions, FoundBy, OnnxRuntime } from '../engine/addon.ts';
import type { Outcome } from '../engine/jobs.ts';
import type { Manifest } from '../engine/manifest.ts';
import type { PackFile } from '../engine/pack-files.ts';
import type { Problem, RequestKind } from '../errors.ts';
import type { Calibration } from '../scoring/calibration.ts';
import type { LiveReason, Step } from '../scoring/motion.ts';
import type { ComparedPersons, PersonsInput } from '../scoring/persons.ts';
import type { Question } from './answer.ts';
import type { ComparedEmbeddings } from './compare-embeddings.ts';
import type { ValueRule } from './options.ts';

/** An endpoint is one value, from which server, settings, metrics and documents are derived. */
export type Endpoint = ImageEndpoint | EmbeddingsEndpoint | PlainEndpoint | DocumentEndpoint;

export const prefix = '/API/v1.0';

interface Common {
  /** Settings, metrics, logs and the OpenAPI document name it so. */
  id: EndpointId;
  method: 'GET' | 'POST';
  /** Exact and case-sensitive. */
  path: string;
  /** The scope that a key needs; 'any' for any valid key, 'none' when no key is needed. */
  scope: string;
  /** The scope of a key has to be asked for, and what was found in its images is not cached. */
  sensitive?: true;
  /** Its decisions, or that it gave templates out, are lines of the audit log. */
  audited?: true;
  docs: {
    tag: keyof typeof tags;
    summary: string;
    description: string;
    /** Added to the sentence about the price. */
    further?: string;
    /** Arguments of curl after the address and the key, one a line; with -F it sends a POST. */
    curl: readonly string[];
  };
}

export const tags = {
  match: 'Compare two photos',
  live: 'Check that a person is live',
  faces: 'Find the faces in one photo',
  about: 'The model pack',
  documents: 'This documentation',
} as const;

/** The answer to a request that succeeded, in JSON. */
export interface Success {
  /** 200 where it is absent. */
  status?: 201;
  description: string;
  /** Its component is called so; the clients' type of it ends with `Answer`. */
  name: string;
  schema: z.ZodType;
}

/** What a handler gives: an answer, or a refusal. Both are counted. */
export type Answered =
  | { body: Answer; counts?: readonly ImageCounts[]; decisions?: readonly Decision[] }
  | { refusal: Problem; counts?: readonly ImageCounts[]; timings_ms?: Answer['timings_ms'] };

/** What the metrics count of an image in which faces were looked for. */
export interface ImageCounts {
  faces: number;
  found_by: FoundBy | 'none';
}

/** One comparison's result, or why there is none: a line of the audit log. Refused answers have none. */
export interface Decision {
  accuracy_mode?: string;
  threshold_percent?: number;
  /** One against many has the index of the target. */
  target?: number;
  /** In a match of embeddings one line stands for all: it says how many were compared, and how many match. */
  candidates?: number;
  matches?: number;
  /** The best one's. */
  confidence_percent?: number;
  match?: boolean;
  /** Embed says how many faces' embeddings were given out. */
  faces?: number;
  /** A liveness check says what was asked for, its verdict, and whether the person was verified: live, and a match. */
  steps?: readonly Step[];
  live?: boolean;
  live_reasons?: readonly LiveReason[];
  verified?: boolean;
  /** Code of the problem that was answered instead. */
  refused?: string;
}

type Answer = object & { timings_ms?: Readonly<Record<string, number>> };

export interface Target {
  /** It is only a label, as it was sent. */
  filename: string | undefined;
  /** Its index among the images, or why it is not there. */
  image: number | Problem;
}

/** Where an image of the form came from. */
export interface Photo {
  field: string;
  /** Its position among those of its field. */
  index: number;
  /** The name as it was sent, which is only a label. */
  filename: string | undefined;
}

/** Images with their faces, as they were asked for. */
export interface Analysed {
  question: Question;
  /** One for each image, in their order. */
  photos: readonly Photo[];
  /** The images of a field of targets, in the order sent. */
  targets: readonly Target[];
  /** They are in the order of the images. */
  outcomes: readonly Outcome[];
  calibration: Calibration;
  /** The challenge of the request, if its endpoint redeems one. */
  steps?: readonly Step[];
}

export interface ImageRule {
  kind: 'image';
  /** How often it may be sent; once where it is absent. */
  most?: number;
  /** Minimum number of times that it must be sent; default 1. */
  least?: number;
  /** Each is a target with a result of its own: a fault of one does not affect the others. */
  targets?: true;
  description: string;
}
/** A required text that the server itself issued. */
export interface TokenRule {
  kind: 'token';
  /** Maximum length in characters; a longer value is malformed. */
  max: number;
  description: string;
}
export type FieldRule = ImageRule | TokenRule | ValueRule;
/** The rules by name; images are in the order in which they are checked. */
export type Fields = Readonly<Record<string, FieldRule>>;

export interface ImageEndpoint extends Common {
  takes: 'images';
  fields: Fields;
  /** Fields that another endpoint takes, of which a warning says so. */
  advanced?: Fields;
  /** Name of the clients' type of its fields without the images. */
  values: string;
  success: Success;
  /** Problems that its fields do not tell: that a face is lacking, that the client chose one, that photos of one person disagree. */
  errors: readonly Extract<RequestKind, 'faces' | 'choice' | 'persons'>[];
  /** The field whose value is a challenge, which the request uses up. */
  redeems?: string;
  /** Options of the analysis that no client chooses. */
  analysis?: Pick<AnalyseOptions, 'refine_landmarks'>;
  /** Tokens beyond the first, for as many images and targets. */
  furtherPrice?(images: number, targets: number): number;
  /** What a request of more images is told than the tokens pay for that a key can have at once. */
  tooManyFor?(burst: number): { limit: number; detail: string };
  /** Where a worker compares the faces as those of two people before the response. Undefined for faulty images, which `answer` rejects. */
  persons?(found: Found): PersonsStep | undefined;
  /** Returns the refusal of faulty images, or throws it. */
  answer(analysed: Analysed): Answered;
}

/** What is known once the images are analysed, before the question's times are. */
export type Found = Omit<Analysed, 'question' | 'targets'>;

/** A comparison of two people, and the response to its result. */
export interface PersonsStep {
  input: PersonsInput;
  answer(analysed: Analysed, compared: ComparedPersons): Answered;
}

export interface AnalysedEmbeddings {
  question: Omit<Question, 'options'>;
  compared: ComparedEmbeddings;
  calibration: Calibration;
}

interface EmbeddingsEndpoint extends Common {
  takes: 'embeddings';
  /** The names of what it takes, as JSON. */
  members: readonly string[];
  success: Success;
  answer(analysed: AnalysedEmbeddings): Answered;
}

interface PlainEndpoint extends Common {
  takes: 'nothing';
  success: Success;
  answer(asked: PlainQuestion): Answered;
}

/** What an endpoint may use that takes nothing. */
export interface PlainQuestion {
  request_id: string;
  manifest: Manifest;
  files(): PackFile[];
  runtime(): OnnxRuntime;
  /** A challenge for the key of the request. */
  newChallenge(): { challenge: string; steps: readonly Step[]; expires_at: string };
}

/** A document of the site, by the endpoint's id. */
interface DocumentEndpoint extends Common {
  takes: 'nothing';
  document: { type: string; description: string; schema: { type: 'string' | 'object'; description: string } };
}

/** Keeps the literal types of `id` and `scope`, from which those of settings and keys follow. */
export const define = <const E extends Endpoint>(endpoint: E): E => endpoint;
