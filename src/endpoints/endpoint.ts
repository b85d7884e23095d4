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
import type { ComparedEmbeddings } from './compare-embeddings.ts';
import type { Comparisons } from './comparison.ts';
import type { ValueRule } from './options.ts';
import type { RequestContext } from './response-members.ts';

/** An endpoint is one value, from which the server, settings, metrics and documentation are derived. */
export type Endpoint = ImageEndpoint | EmbeddingsEndpoint | PlainEndpoint | DocumentEndpoint;

export const prefix = '/API/v1.0';

interface Common {
  /** Name in settings, metrics, logs and the OpenAPI document. */
  id: EndpointId;
  method: 'GET' | 'POST';
  /** Matched exactly, including case. */
  path: string;
  /** The scope that a key needs; 'any' for any valid key, 'none' when no key is needed. */
  scope: string;
  /** New keys get its scope only on request, and analyses of its images are not cached. */
  sensitive?: true;
  /** Its decisions, or the templates that it returned, are written to the audit log. */
  audited?: true;
  docs: {
    tag: keyof typeof tags;
    summary: string;
    description: string;
    /** Follows the sentence about the request's cost in tokens. */
    further?: string;
    /** Arguments of curl after URL and key, one per line; with -F it sends a POST. */
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

/** The successful response, in JSON. */
export interface Success {
  /** Default: 200. */
  status?: 201;
  description: string;
  /** Name of its OpenAPI component; clients append `Response` for the name of their type. */
  name: string;
  schema: z.ZodType;
}

/** Result of a handler: a response or a rejection. Both may carry counts for the metrics. */
export type HandlerResult =
  | { body: ResponseBody; counts?: readonly ImageCounts[]; decisions?: readonly Decision[] }
  | { rejection: Problem; counts?: readonly ImageCounts[]; timings_ms?: ResponseBody['timings_ms'] };

/** Counts of a searched image, for the metrics. */
export interface ImageCounts {
  faces: number;
  found_by: FoundBy | 'none';
}

/**
 * One line of the audit log: the result of a comparison, or the reason why there is none. A rejected request
 * has no line.
 */
export interface Decision {
  accuracy_mode?: string;
  threshold_percent?: number;
  /** Index of the photo in `image2`; only for match_many. */
  image2_index?: number;
  /**
   * Number of compared candidates and of matches. Only for embeddings, where one line covers all candidates.
   */
  candidates?: number;
  matches?: number;
  /** Values of the best candidate, for embeddings. */
  confidence_percent?: number;
  match?: boolean;
  /** Number of embeddings that were returned; only for embed. */
  embeddings_returned?: number;
  /**
   * Only for liveness checks: the steps, the verdict, and whether the person was verified, that is, live and
   * a match.
   */
  steps?: readonly Step[];
  live?: boolean;
  live_reasons?: readonly LiveReason[];
  verified?: boolean;
  /** Code of the problem that was returned instead. */
  code?: string;
}

type ResponseBody = object & { timings_ms?: Readonly<Record<string, number>> };

export interface Target {
  /** File name as sent; only a label. */
  filename: string | undefined;
  /** Index among the images, or the problem that excluded the target. */
  image: number | Problem;
}

/** The part of the form that an image came from. */
export interface Photo {
  field: string;
  /** Its position among the images of its field. */
  index: number;
  /** File name as sent; only a label. */
  filename: string | undefined;
}

/** Analysed images of a request. */
export interface Analysed {
  context: RequestContext;
  /** One for each image, in the same order. */
  photos: readonly Photo[];
  /** The images of a field of targets, in the order sent. */
  targets: readonly Target[];
  /** Results in the order of the images. */
  outcomes: readonly Outcome[];
  comparisons: Comparisons;
  calibration: Calibration;
  /** The challenge of the request, if its endpoint takes one. */
  steps?: readonly Step[];
}

export interface ImageRule {
  kind: 'image';
  /** Maximum number of times that it may be sent; default 1. */
  most?: number;
  /** Minimum number of times that it must be sent; default 1. */
  least?: number;
  /** Each image is a target with its own result: an error in one does not affect the others. */
  targets?: true;
  description: string;
}
/** A required token that the server issued. */
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
  /** Fields that only another endpoint accepts; if one is sent, a warning names that endpoint. */
  advanced?: Fields;
  /** Name of the clients' type for its fields, without the images. */
  values: string;
  success: Success;
  /**
   * Error groups that do not follow from its fields: missing faces, selected faces, photos of one person that
   * disagree.
   */
  errors: readonly Extract<RequestKind, 'faces' | 'choice' | 'persons'>[];
  /** The field whose value is a challenge, which the request uses up. */
  redeems?: string;
  /** Analysis options that clients cannot set. */
  analysis?: Pick<AnalyseOptions, 'refine_landmarks'>;
  /** Returns the number of tokens beyond the first, given the numbers of images and targets. */
  furtherTokens?(images: number, targets: number): number;
  /** Limit and detail for a request whose images cost more tokens than the burst of its key. */
  tooManyFor?(burst: number): { limit: number; detail: string };
  /**
   * Returns the input of the comparison of two people, which a worker runs before the response is built.
   * Undefined for images with errors, which `buildResponse` rejects.
   */
  persons?(found: Found): PersonsStep | undefined;
  /**
   * Returns the indices of the images to search further, because the result would otherwise be "no match".
   * Default: none; an image without a face has already had all detection passes.
   */
  unsettled?(found: Unsettled): number[];
  /** Builds the response. Returns or throws the problem of images with errors. */
  buildResponse(analysed: Analysed): HandlerResult;
}

/** Results of the analysis, before the request's times are known. */
export type Found = Omit<Analysed, 'context' | 'targets'>;

/** Results of the analysis before a further search. */
export type Unsettled = Pick<Analysed, 'outcomes' | 'targets' | 'comparisons' | 'calibration'> & {
  options: RequestContext['options'];
};

/** A comparison of two people, and the function that builds the response from its result. */
export interface PersonsStep {
  input: PersonsInput;
  buildResponse(analysed: Analysed, compared: ComparedPersons): HandlerResult;
}

export interface AnalysedEmbeddings {
  context: Omit<RequestContext, 'options'>;
  compared: ComparedEmbeddings;
  calibration: Calibration;
}

interface EmbeddingsEndpoint extends Common {
  takes: 'embeddings';
  /** Names of the accepted members, in JSON. */
  members: readonly string[];
  success: Success;
  buildResponse(analysed: AnalysedEmbeddings): HandlerResult;
}

interface PlainEndpoint extends Common {
  takes: 'nothing';
  success: Success;
  buildResponse(asked: PlainContext): HandlerResult;
}

/** Context of an endpoint without a body. */
export interface PlainContext {
  request_id: string;
  manifest: Manifest;
  files(): PackFile[];
  runtime(): OnnxRuntime;
  /** Issues a challenge for the key of the request. */
  newChallenge(): { challenge: string; steps: readonly Step[]; expires_at: string };
}

/** An endpoint that returns a document of the site, chosen by the endpoint's id. */
interface DocumentEndpoint extends Common {
  takes: 'nothing';
  document: { type: string; description: string; schema: { type: 'string' | 'object'; description: string } };
}

/** Keeps the literal types of `id` and `scope`, from which the types of settings and keys are derived. */
export const define = <const E extends Endpoint>(endpoint: E): E => endpoint;
