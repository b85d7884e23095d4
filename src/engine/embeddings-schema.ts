import { z } from 'zod';
import { accuracyModes } from './addon.ts';
import { mostCandidates } from './cosine.ts';
import { optionRules } from './match-options.ts';

const longestId = 128;

const text = (most: number, expected: string) => z.string({ error: expected }).max(most, { error: expected });
const number = (min: number, max: number, kind: 'a number' | 'a whole number') => {
  const error = `${kind} from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`;
  const base = kind === 'a number' ? z.number({ error }) : z.int({ error });
  return base.min(min, { error }).max(max, { error });
};
const base64 = z
  .string({ error: 'an embedding in base64' })
  .describe('Numbers in the encoding that embed gives: little-endian 32-bit floats, in base64');
const { threshold_percent } = optionRules;

/** The request's body; the docs are generated from it too. */
export const embeddingsSchema = z.object(
  {
    embedding: base64,
    candidates: z
      .array(
        z.object(
          {
            id: text(longestId, `a text of up to ${longestId} characters`).describe(
              'Comes back with the result',
            ),
            embedding: base64,
          },
          { error: 'an object with "id" and "embedding"' },
        ),
        { error: `a list of 1 to ${mostCandidates} candidates` },
      )
      .min(1, { error: `a list of 1 to ${mostCandidates} candidates` })
      .max(mostCandidates, { error: `a list of 1 to ${mostCandidates} candidates` })
      .describe('What it is compared with'),
    pack: text(200, "the model pack's name, as embed answered").describe('The pack that all of them are of'),
    version: text(200, "the model pack's version, as embed answered").describe('Its version'),
    accuracy_mode: z
      .enum(accuracyModes, { error: `one of ${accuracyModes.join(', ')}` })
      .describe('The mode that all of them were made in'),
    threshold_percent: number(threshold_percent.min, threshold_percent.max, 'a number')
      .default(threshold_percent.default)
      .describe(threshold_percent.description),
    searched: number(1, 1e12, 'a whole number')
      .optional()
      .describe(
        'Among how many the candidates were found: each false_match_rate is multiplied by it. By default the number of candidates',
      ),
    min_percent: number(0, 100, 'a number').default(0).describe('Results below are left out'),
    limit: number(1, mostCandidates, 'a whole number').default(100).describe('Most results'),
  },
  { error: 'an object' },
);
