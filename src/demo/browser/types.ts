import type { EndpointId } from '../../config.ts';
import type { detectBody } from '../../http/faces-result.ts';
import type { ChoiceRule, FieldName, NumberRule } from '../../http/fields.ts';
import type { manyBody } from '../../http/many-result.ts';
import type { matchBody } from '../../http/match-result.ts';

/** What server and page have to agree on. */

/** What the server writes into the page. */
export interface Settings {
  /** Of the endpoints that are switched on. */
  paths: Partial<Record<EndpointId, string>>;
  /** The form's fields but pictures and face indices; the two that everybody sets, and the rest in the table's order. */
  threshold_percent: NumberRule;
  accuracy_mode: ChoiceRule;
  options: Readonly<Record<string, NumberRule | ChoiceRule>>;
  limits: { max_body_bytes: number; targets: number };
}

/** What the page is for at the moment, by the endpoint that answers. */
export type Task = 'match' | 'match_many' | 'detect';

/** A 200 answer. */
export type Answer = ReturnType<typeof matchBody>;
export type ManyAnswer = ReturnType<typeof manyBody>;
export type DetectAnswer = ReturnType<typeof detectBody>;
export type Picture = Answer['image1'];
export type Face = Picture['faces'][number];
export type Pair = Answer['pairs'][number];
/** A face by its index in each picture; -1 where the server chooses. */
export type Choice = [image1: number, image2: number];

/** Of any problem+json, and of what the page itself has to report in the same words. */
export interface Problem {
  status?: number;
  code: string;
  title: string;
  detail: string;
  type?: string;
  request_id?: string;
  field?: string;
  errors?: { field: string }[];
  [extra: string]: unknown;
}

export type Outcome =
  | { answer: Answer | ManyAnswer | DetectAnswer; round_trip_ms: number }
  | { problem: Problem; retry_after_s?: number | undefined };

/** Field names and their texts, as the form carries them; the photos stand beside it. */
export type Fields = Partial<Record<FieldName, string>>;

/** A request before it is sent. */
export interface Plan {
  endpoint: Task | 'match_advanced';
  path: string;
  fields: Fields;
}
