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

/** Definition of an endpoint, from which routes, settings, metrics and documentation are derived. */
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
  /** New keys do not get the scope by default, and this endpoint does not cache analyses. */
  sensitive?: true;
  /** The audit log records the decisions, or the number of returned embeddings. */
  audited?: true;
  docs: {
    tag: keyof typeof tags;
    summary: string;
    description: string;
    /** Text after the sentence about the request's cost in tokens. */
    further?: string;
    /** Arguments of curl after URL and key, one per line. -F implies POST. */
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
  /** Name of the OpenAPI component. The clients' type has this name with `Response` appended. */
  name: string;
  schema: z.ZodType;
}

/** Result of a handler: a response or a rejection. Both may have counts for the metrics. */
export type HandlerResult =
  | { body: ResponseBody; counts?: readonly ImageCounts[]; decisions?: readonly Decision[] }
  | { rejection: Problem; counts?: readonly ImageCounts[]; timings_ms?: ResponseBody['timings_ms'] };

/** Metrics of one image that was searched for faces. */
export interface ImageCounts {
  faces: number;
  found_by: FoundBy | 'none';
}

/**
 * One line of the audit log: the result of a comparison, the error of a target or of a rejected request, or the
 * number of returned embeddings.
 */
export interface Decision {
  accuracy_mode?: string;
  threshold_percent?: number;
  /** Index of the photo in `image2`; only for match_many. */
  image2_index?: number;
  /** Number of compared candidates and of matches; only for match_embeddings, where one line covers all candidates. */
  candidates?: number;
  matches?: number;
  /** Result of the comparison; in match_embeddings, of the best returned candidate. */
  confidence_percent?: number;
  match?: boolean;
  /** Number of returned embeddings; only for embed. */
  embeddings_returned?: number;
  /** Only for liveness checks: the steps, the verdict, and whether the person is both live and a match. */
  steps?: readonly Step[];
  live?: boolean;
  live_reasons?: readonly LiveReason[];
  verified?: boolean;
  /** Error code of a target that was not compared, or of a rejected request. */
  code?: string;
}

type ResponseBody = object & { timings_ms?: Readonly<Record<string, number>> };

export interface Target {
  /** File name as sent. Used only as a label. */
  filename: string | undefined;
  /** Index among the analysed images, or the problem that excluded the target. */
  image: number | Problem;
}

/** Origin of an image in the form. */
export interface Photo {
  field: string;
  /** Position among the images of the field. */
  index: number;
  /** File name as sent. Used only as a label. */
  filename: string | undefined;
}

/** Analysed images of a request. */
export interface Analysed {
  context: RequestContext;
  /** The origin of each image, in the order of the images. */
  photos: readonly Photo[];
  /** The target images, in the order sent; empty if the endpoint has none. */
  targets: readonly Target[];
  /** The result of each image, in the order of the images. */
  outcomes: readonly Outcome[];
  comparisons: Comparisons;
  calibration: Calibration;
  /** The steps of the request's challenge, if its endpoint requires a challenge. */
  steps?: readonly Step[];
}

export interface ImageRule {
  kind: 'image';
  /** Maximum number of images in this field; default 1. */
  max?: number;
  /** Minimum number of images in this field; default 1. */
  min?: number;
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
/** Rules by field name. The images are in the order in which they are checked. */
export type Fields = Readonly<Record<string, FieldRule>>;

export interface ImageEndpoint extends Common {
  takes: 'images';
  fields: Fields;
  /** Fields of the advanced endpoint, for warnings about fields that only that endpoint accepts. */
  advanced?: Fields;
  /** Name of the clients' type for the fields, without the images. */
  values: string;
  success: Success;
  /** Request kinds that the fields do not imply; they select error codes. */
  errors: readonly Extract<RequestKind, 'faces' | 'persons'>[];
  /** Name of the field with the challenge. A request marks its challenge as used. */
  redeems?: string;
  /** Analysis options that clients cannot set. */
  analysis?: Pick<AnalyseOptions, 'refine_landmarks'>;
  /** Returns the number of rate limit tokens beyond the first, given the numbers of images and targets. */
  furtherTokens?(images: number, targets: number): number;
  /** Returns `limit` and `detail` for a request that costs more tokens than the burst of its key. */
  tooManyFor?(burst: number): { limit: number; detail: string };
  /**
   * Returns a comparison of two persons, which a worker runs before the response is built. Returns undefined if an
   * image has an error; `buildResponse` then rejects the request.
   */
  persons?(found: Found): PersonsStep | undefined;
  /**
   * Returns the indices of the images to search a second time, because the result would otherwise be "no match".
   * Omits images without a face, because they have had all passes. Default: none.
   */
  unsettled?(found: Unsettled): number[];
  /** Returns the response, or a rejection if an image has an error or the options reject a face. */
  buildResponse(analysed: Analysed): HandlerResult;
}

/** Results of the analysis, before the response is built. */
export type Found = Omit<Analysed, 'context' | 'targets'>;

/** Results of the analysis before the second search. */
export type Unsettled = Pick<Analysed, 'outcomes' | 'targets' | 'comparisons' | 'calibration'> & {
  options: RequestContext['options'];
};

/** A comparison of two persons, and the function that builds the response from its result. */
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
  /** Names of the accepted JSON members. */
  members: readonly string[];
  success: Success;
  buildResponse(analysed: AnalysedEmbeddings): HandlerResult;
}

interface PlainEndpoint extends Common {
  takes: 'nothing';
  success: Success;
  buildResponse(context: PlainContext): HandlerResult;
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

/** Preserves the literal types of `id` and `scope`, from which other types are derived. */
export const define = <const E extends Endpoint>(endpoint: E): E => endpoint;
