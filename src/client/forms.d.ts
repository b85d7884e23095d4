import type {
  AdvancedMatchFields,
  AdvancedMatchValues,
  AnyProblem,
  Face,
  Image,
  MatchAnswer,
  Warning,
} from 'facematch/client-types';

/** The end of `facematch/client-types`, behind what set-up makes of the OpenAPI document: names for parts of the answers. */

export type FieldName = keyof AdvancedMatchFields;
export type ImageField = Exclude<FieldName, keyof AdvancedMatchValues>;
export type AccuracyMode = MatchAnswer['accuracy_mode'];
export type Model = MatchAnswer['model'];
export type Timings = MatchAnswer['timings_ms'];
export type ImageFormat = Image['format'];
export type Box = Face['box'];
export type Landmarks = Face['landmarks'];
export type FoundBy = Face['found_by'];
export type Pose = Face['pose'];
export type Quality = Face['quality'];
export type WarningCode = Warning['code'];
export type QualityReason = NonNullable<Warning['reason']>;

/** What is wrong, for programs. New codes may come. */
export type ErrorCode = AnyProblem['code'];

/** What every problem has (RFC 9457). */
export interface ProblemBase {
  /** Where the problem is explained */
  type: string;
  /** What is wrong, the same text each time */
  title: string;
  /** What to do about it, for people */
  detail: string;
  /** The same as in the X-Request-Id header; quote it to the operator */
  request_id: string;
}

/** Every answer that is not 200: `application/problem+json`. `code` tells which members it has. */
export type Problem<Code extends ErrorCode = ErrorCode> = ProblemBase & Extract<AnyProblem, { code: Code }>;
