import { z } from 'zod';
import { frameLimits, steps } from '../scoring/motion.ts';
import { define, prefix } from './endpoint.ts';
import { request_id } from './response-members.ts';
import { object, text } from './schema.ts';

/** First request of a liveness check: returns the head movements that the frames must show. */

/** Maximum length of an accepted challenge; issued challenges have at most 90 characters. */
export const maxChallenge_characters = 512;

const movements = {
  left: 'the person turns the head to their own left',
  right: 'the person turns the head to their own right',
  up: 'the person lifts the chin',
  down: 'the person lowers the chin',
} as const satisfies Record<(typeof steps)[number], string>;

export const stepName = z.enum(steps).describe(
  Object.entries(movements)
    .map(([step, meaning]) => `\`${step}\`: ${meaning}`)
    .join('; '),
);

/** Limits of the check, for docs and schemas. */
export const limitText =
  'The check makes it harder to pass with a photo or a still image on a screen. It does not detect masks, injected video or deepfakes, and no laboratory ' +
  'has evaluated it.';

const Challenge = object('Head movements that the frames of a liveness check must show.', {
  request_id,
  challenge: text(
    `Opaque token of at most ${maxChallenge_characters} characters. Send it back once, with the same API key`,
  ),
  steps: z
    .array(stepName)
    .min(1)
    .max(4)
    .describe('Movements in the required order. The head returns to the middle after each movement'),
  expires_at: z.iso.datetime().describe('Time by which the frames must be received (RFC 3339)'),
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
      'Returns random head movements, and a token that `match/upload/live` accepts once. The request has no body. ' +
      `${limitText} Disabled by default.`,
    curl: ['-X POST'],
  },
  buildResponse: ({ request_id, newChallenge }) => ({
    body: { request_id, ...newChallenge(), frames: frameLimits },
  }),
});
