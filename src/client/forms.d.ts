import type {
  AdvancedMatchFields,
  AdvancedMatchValues,
  AnyProblem,
  Face,
  Image,
  MatchResponse,
  Warning,
} from 'facematch/client-types';

/**
 * Names for parts of the responses. The build appends this file to the types that it generates from the OpenAPI
 * document.
 */

export type FieldName = keyof AdvancedMatchFields;
export type ImageField = Exclude<FieldName, keyof AdvancedMatchValues>;
export type AccuracyMode = MatchResponse['accuracy_mode'];
export type Model = MatchResponse['model'];
export type Timings = MatchResponse['timings_ms'];
export type ImageFormat = Image['format'];
export type Box = Face['box'];
export type Landmarks = Face['landmarks'];
export type FoundBy = Face['found_by'];
export type Pose = Face['pose'];
export type Quality = Face['quality'];
export type WarningCode = Warning['code'];
export type QualityReason = NonNullable<Warning['reason']>;

/** Error code for programs. New codes may be added. */
export type ErrorCode = AnyProblem['code'];

/** Members of every problem (RFC 9457). */
export interface ProblemBase {
  /** URL that identifies the problem type and explains it */
  type: string;
  /** Short description, always the same for one `type` */
  title: string;
  /** Explanation of the error and how to fix it, in English */
  detail: string;
  /** Same as the X-Request-Id response header; include it in a report to the operator */
  request_id: string;
}

/** Every error response: `application/problem+json`. `code` determines which members it has. */
export type Problem<Code extends ErrorCode = ErrorCode> = ProblemBase & Extract<AnyProblem, { code: Code }>;
