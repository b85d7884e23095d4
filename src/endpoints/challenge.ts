import { z } from 'zod';
import { frameLimits, steps } from '../scoring/motion.ts';
import { request_id } from './answer.ts';
import { define, prefix } from './endpoint.ts';
import { object, text } from './schema.ts';

/** The first half of a liveness check: which head movements the server wants to see. */

const movements = {
  left: 'the person turns the head to their own left',
  right: 'to their own right',
  up: 'the person lifts the chin',
  down: 'the person lowers the chin',
} as const satisfies Record<(typeof steps)[number], string>;

export const stepName = z.enum(steps).describe(
  Object.entries(movements)
    .map(([step, meaning]) => `\`${step}\`: ${meaning}`)
    .join('; '),
);

/** The statement about the check in pages and responses. */
export const limitWords =
  'It raises the cost of holding a photo or a still screen to the camera. It does not detect masks, injected video or deepfakes, and no laboratory ' +
  'has evaluated it.';

const Challenge = object('Head movements that a liveness check has to show.', {
  request_id,
  challenge: text('Opaque, at most 512 characters. Send it back once, with the same API key'),
  steps: z
    .array(stepName)
    .min(1)
    .max(4)
    .describe('In this order. Between them the head returns to the middle'),
  expires_at: z.iso.datetime().describe('Time by which the frames have to be received (RFC 3339)'),
  frames: object('Number of frames that match/upload/live accepts', {
    min: z.int().min(1).describe('Minimum'),
    max: z.int().min(1).describe('Maximum'),
  }),
});

export type Challenge = z.infer<typeof Challenge>;

export const challenge = define({
  id: 'challenge',
  method: 'POST',
  path: `${prefix}/face/match/challenge`,
  scope: 'match:live',
  takes: 'nothing',
  success: { status: 201, description: 'The challenge was issued', name: 'Challenge', schema: Challenge },
  docs: {
    tag: 'live',
    summary: 'Get a liveness challenge',
    description:
      'Returns head movements, drawn at random, and a token that `match/upload/live` accepts once. The request has no body. ' +
      `${limitWords} Off unless the operator enables it.`,
    curl: ['-X POST'],
  },
  answer: ({ request_id, newChallenge }) => ({
    body: { request_id, ...newChallenge(), frames: frameLimits },
  }),
});
