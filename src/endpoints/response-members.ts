import { z } from 'zod';
import { accuracyModes, type StageTimings, stages } from '../engine/addon.ts';
import { rounded } from './face.ts';
import type { MatchOptions } from './options.ts';
import { milliseconds, object, percent, text } from './schema.ts';
import { Warning } from './warnings.ts';

/** Response members that several endpoints share. */

/** Context of a request with images, from HTTP or the command line. */
export interface RequestContext {
  request_id: string;
  options: MatchOptions;
  /** Warnings about the request itself. */
  warnings: readonly Warning[];
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

export const request_id = text('Same value as the X-Request-Id header');
export const threshold_percent = percent.describe('Threshold that was applied');
export const accuracy_mode = z.enum(accuracyModes).describe('Accuracy mode that was used');

/** The last members of every response to images. */
export const rest = {
  model: object('Model pack that was used; see GET models', {
    pack: text('Name of the model pack'),
    version: text('Version of the pack'),
  }),
  warnings: z.array(Warning).describe('Warnings; empty if there are none'),
  timings_ms: object('Time of each stage; also in the Server-Timing header', {
    queue: milliseconds('Waiting for a worker'),
    decode: milliseconds('Decoding the images'),
    detect: milliseconds('Detecting faces, all passes'),
    align: milliseconds('Finding landmarks, checking and aligning the faces'),
    embed: milliseconds('Computing embeddings, and liveness scores if requested'),
    total: milliseconds('From the last byte of the request to the response'),
  }),
};

export type Timings = z.infer<typeof rest.timings_ms>;

/** `images`: stage times of each image; all 0 for an image from the embedding cache. */
export function timingsBody(
  { queue_ms, total_ms }: Pick<RequestContext, 'queue_ms' | 'total_ms'>,
  images: readonly { timings_ms: StageTimings }[],
): Timings {
  const sums = stages.map((stage) => [
    stage,
    images.reduce((sum, { timings_ms }) => sum + timings_ms[stage], 0),
  ]);
  return rounded({ queue: queue_ms, ...(Object.fromEntries(sums) as StageTimings), total: total_ms }, 1);
}
