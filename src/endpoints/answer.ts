import { z } from 'zod';
import { accuracyModes, type StageTimings, stages } from '../engine/addon.ts';
import { rounded } from './face.ts';
import type { MatchOptions } from './options.ts';
import { milliseconds, object, percent, text } from './schema.ts';
import { Warning } from './warnings.ts';

/** What several answers have. */

/** What every answer about images is made from, whoever asked. */
export interface Question {
  request_id: string;
  options: MatchOptions;
  /** About the question itself. */
  warnings: readonly Warning[];
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

export const request_id = text('The same as in the X-Request-Id header');
export const threshold_percent = percent.describe('The threshold that was applied');
export const accuracy_mode = z.enum(accuracyModes).describe('The mode that was used');

/** The end of every answer about images. */
export const rest = {
  model: object('The model pack of the answer; see GET models', {
    pack: text('Name of the model pack'),
    version: text('Its version'),
  }),
  warnings: z.array(Warning).describe('Empty when there is nothing to say'),
  timings_ms: object('Where the time went; in the Server-Timing header as well', {
    queue: milliseconds('Waiting for a worker'),
    decode: milliseconds('Decoding the images'),
    detect: milliseconds('Finding faces, with all detection steps'),
    align: milliseconds('Finding landmarks, checking the faces, and aligning them'),
    embed: milliseconds('Turning each face into a vector, and telling live ones where asked for'),
    total: milliseconds('From the last byte of the request to the answer'),
  }),
};

export type Timings = z.infer<typeof rest.timings_ms>;

/** `images`: of each that was analysed; 0 for one that was in the embedding cache. */
export function timingsBody(
  { queue_ms, total_ms }: Pick<Question, 'queue_ms' | 'total_ms'>,
  images: readonly { timings_ms: StageTimings }[],
): Timings {
  const sums = stages.map((stage) => [
    stage,
    images.reduce((sum, { timings_ms }) => sum + timings_ms[stage], 0),
  ]);
  return rounded({ queue: queue_ms, ...(Object.fromEntries(sums) as StageTimings), total: total_ms }, 1);
}
