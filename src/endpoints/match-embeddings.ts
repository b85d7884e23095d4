import { z } from 'zod';
import { shortName } from '../errors.ts';
import { accuracy_mode, request_id, rest, threshold_percent } from './answer.ts';
import { assessPair, verdict } from './comparison.ts';
import { define, key, prefix, type Ranked } from './endpoint.ts';
import { round } from './face.ts';
import { EmbeddingsRequest, maxCandidates } from './rank-embeddings.ts';
import { count, milliseconds, object, text } from './schema.ts';
import { thresholdBelowOne, uncalibrated } from './warnings.ts';

/** One embedding against many, as a worker ranked them. */

const Embeddings = object('One embedding against many.', {
  request_id,
  threshold_percent,
  accuracy_mode,
  searched: z.int().min(1).describe('The number that each false_match_rate is multiplied by'),
  results: z
    .array(object('A candidate.', { id: text('As sent'), ...verdict }))
    .max(maxCandidates)
    .describe('Best first: at most `limit`, and none below `min_percent`'),
  matches: count.describe('How many candidates match, including those that `limit` leaves out'),
  model: rest.model,
  warnings: rest.warnings,
  timings_ms: object('Where the time went; in the Server-Timing header as well', {
    queue: milliseconds('Waiting for a worker'),
    total: milliseconds('From the last byte of the request to the answer'),
  }),
});

export type Embeddings = z.infer<typeof Embeddings>;

function bodyOf({ question, ranked, calibration }: Ranked): Embeddings {
  const { request_id, model, queue_ms, total_ms } = question;
  const { threshold_percent, accuracy_mode, searched, min_percent, limit } = ranked.values;
  const results = ranked.candidates
    .map(({ id, ...scores }) => ({ id, ...assessPair(scores, calibration, searched, threshold_percent) }))
    .filter(({ confidence_percent }) => confidence_percent >= min_percent);
  return {
    request_id,
    threshold_percent,
    accuracy_mode,
    searched,
    // Best first. `matches` also counts those that `limit` leaves out.
    results: results.slice(0, limit),
    matches: results.filter(({ match }) => match).length,
    model,
    warnings: [
      ...question.warnings,
      ...ranked.unknown.map((name) => ({ ...unknownMember, field: shortName(`/${name}`) })),
      ...thresholdBelowOne(threshold_percent),
      ...uncalibrated(calibration, model),
    ],
    timings_ms: { queue: round(queue_ms, 1), total: round(total_ms, 1) },
  };
}

const unknownMember = {
  code: 'unknown_field',
  field: '',
  detail: 'The member was ignored: this endpoint does not know it. Look for a mistake in its name.',
} as const;

export const matchEmbeddings = define({
  id: 'match_embeddings',
  method: 'POST',
  path: `${prefix}/face/match/embeddings`,
  scope: 'match:embeddings',
  price: 1,
  audited: true,
  takes: 'embeddings',
  members: Object.keys(EmbeddingsRequest.shape),
  success: { description: 'The embeddings were compared', name: 'Embeddings', schema: Embeddings },
  docs: {
    tag: 'match',
    summary: 'Compare one embedding with many',
    description:
      `Compares an embedding from the embed endpoint with up to ${maxCandidates.toLocaleString('en')} others, as if their ` +
      'images had been compared. `searched` says how many embeddings were searched to find the candidates: the most similar ' +
      'of a million strangers is more similar than one stranger. Off unless the operator switches it on.',
    curl: [key, '-H "content-type: application/json"', '--data @embeddings.json'],
  },
  answer(ranked) {
    const body = bodyOf(ranked);
    const { accuracy_mode, threshold_percent, matches, results } = body;
    const best = results[0];
    // One line for all candidates.
    const decision = {
      accuracy_mode,
      threshold_percent,
      candidates: ranked.ranked.candidates.length,
      matches,
      ...(best && { confidence_percent: best.confidence_percent, match: best.match }),
    };
    return { body, decisions: [decision] };
  },
});
