import type { EndpointId } from '../../config/config.ts';
import type { Detect } from '../../endpoints/detect.ts';
import type { Match } from '../../endpoints/match.ts';
import type { Live } from '../../endpoints/match-live.ts';
import type { Many } from '../../endpoints/match-many.ts';
import type { Person } from '../../endpoints/match-person.ts';
import type { ChoiceRule, MatchOptions, NumberRule, ValueRule } from '../../endpoints/options.ts';

/** Types that the server and the page share. */

/** Data that the server writes into the page. */
export interface Settings {
  /** Paths of the enabled endpoints. */
  paths: Partial<Record<EndpointId, string>>;
  /** Names of the fields of each enabled endpoint. */
  fields: Partial<Record<EndpointId, readonly string[]>>;
  /** The three members below are the form's fields, without images, face indices and liveness options. */
  threshold_percent: NumberRule;
  accuracy_mode: ChoiceRule;
  options: Readonly<Record<string, ValueRule>>;
  /** `targets`: maximum number of photos to compare with. `photos`: maximum number of photos of each person. */
  limits: {
    max_body_bytes: number;
    max_image_bytes: number;
    max_pixels: number;
    targets: number;
    photos: number;
  };
  /** True if the server has sample photos. */
  samples: boolean;
}

/** The selected tab, named after its endpoint. */
export type Task = 'match' | 'match_many' | 'detect' | 'match_live';

/** Bodies of 200 responses. */
export type MatchResponse = Match;
export type PersonResponse = Person;
export type ManyResponse = Many;
export type DetectResponse = Detect;
export type LiveResponse = Live;
export type Warning = MatchResponse['warnings'][number];
export type FoundImage = MatchResponse['image1'];
export type Face = FoundImage['faces'][number];
export type Pair = MatchResponse['pairs'][number];
/** Index of a face in each image; -1 if the server chooses. */
export type Choice = [image1: number, image2: number];

/** A problem+json body, or an error of the page itself in the same form. */
export interface ProblemResponse {
  status?: number;
  code: string;
  title: string;
  detail: string;
  type?: string;
  request_id?: string;
  field?: string;
  errors?: { field: string; index?: number; agreement_percent?: number }[];
  [extra: string]: unknown;
}

export type Received =
  | {
      response: MatchResponse | PersonResponse | ManyResponse | DetectResponse | LiveResponse;
      round_trip_ms: number;
    }
  | { problem: ProblemResponse; retry_after_s?: number | undefined };

/** Fields of the form as text, without the photos. */
export type Fields = Partial<Record<keyof MatchOptions | 'challenge', string>>;

/** A request before it is sent. */
export interface Plan {
  endpoint: Task | 'match_advanced' | 'match_person';
  path: string;
  fields: Fields;
}
