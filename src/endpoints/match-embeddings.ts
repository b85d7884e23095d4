import { z } from 'zod';
import { shortName } from '../engine/client-input.ts';
import type { Problem } from '../errors.ts';
import { agreementPercents, disagreement, disagreements, disagreementWarnings } from './agreement.ts';
import { EmbeddingsRequest, maxCandidates, maxEmbeddings } from './compare-embeddings.ts';
import { assessPair, shifted, verdict } from './comparison.ts';
import { type AnalysedEmbeddings, define, prefix } from './endpoint.ts';
import { round } from './face.ts';
import { problemBody, problemMembers } from './faults.ts';
import { accuracy_mode, request_id, rest, threshold_percent } from './response-members.ts';
import { count, listOf, milliseconds, object, optional, percent, text } from './schema.ts';
import { requestWarnings } from './warnings.ts';

/** Compares the embeddings of one person with those of many persons, in a worker. */

const agreement_percents = optional(
  z.array(percent).min(2).max(maxEmbeddings),
  'If several embeddings were sent: `confidence_percent` of each compared with the mean of the others',
);

export const ComparedCandidate = object('A candidate that was compared.', {
  id: text('As sent'),
  ...verdict,
  agreement_percents,
});

export const UncomparedCandidate = object(
  'A candidate that was not compared because its embeddings disagree.',
  {
    id: text('As sent'),
    problem: object('The error, as in a problem response', {
      code: z.literal('photos_disagree').describe('Machine-readable code'),
      ...problemMembers,
      errors: disagreements.describe(
        'One for each embedding whose agreement is below `min_agreement_percent`',
      ),
    }),
  },
);

type UncomparedCandidate = z.infer<typeof UncomparedCandidate>;

const Embeddings = object('One person compared with many.', {
  request_id,
  threshold_percent,
  accuracy_mode,
  agreement_percents,
  searched: z.int().min(1).describe('Factor by which each `false_match_rate` was multiplied'),
  results: listOf(
    z.xor([ComparedCandidate, UncomparedCandidate]),
    'Best first, at most `limit`, without those below `min_percent`; then all candidates with a `problem`, in the order sent',
  ).max(maxCandidates),
  matches: count.describe(
    'Number of candidates that match, including those beyond `limit`, without those below `min_percent`',
  ),
  model: rest.model,
  warnings: rest.warnings,
  timings_ms: object('Time of each stage; also in the Server-Timing header', {
    queue: milliseconds('Waiting for a worker'),
    total: milliseconds('From the last byte of the request to the response'),
  }),
});

export type Embeddings = z.infer<typeof Embeddings>;

const several = (percents: number[]) => (percents.length === 0 ? {} : { agreement_percents: percents });
const photosOf = (percents: readonly number[]) => Math.max(1, percents.length);

/** Returns the agreement percents of the probe and of each candidate, with JSON pointers for messages. */
function sidesOf({ compared: { agreements, candidates }, calibration }: AnalysedEmbeddings) {
  const sideOf = (field: string, own: readonly number[]) =>
    [field, agreementPercents(own, calibration)] as const;
  return {
    query: sideOf('/embeddings', agreements),
    candidates: candidates.map((one, at) => sideOf(`/candidates/${at}/embeddings`, one.agreements)),
  };
}

function bodyOf(given: AnalysedEmbeddings, { query, candidates }: ReturnType<typeof sidesOf>): Embeddings {
  const { context, compared, calibration } = given;
  const { request_id, model, queue_ms, total_ms } = context;
  const { threshold_percent, min_agreement_percent, accuracy_mode, searched, min_percent, limit } =
    compared.values;
  const judged = compared.candidates.map((candidate, at) => {
    const [, percents] = candidates[at]!;
    const similarity = shifted(candidate, calibration, photosOf(query[1]), photosOf(percents));
    const problem = disagreement([candidates[at]!], min_agreement_percent, calibration);
    return { id: candidate.id, percents, similarity, problem };
  });
  const results = judged
    .filter(({ problem }) => problem === undefined)
    .toSorted((a, b) => b.similarity.normalised_similarity - a.similarity.normalised_similarity)
    .map(({ id, percents, similarity }) => ({
      id,
      ...assessPair(similarity, calibration, searched, threshold_percent),
      ...several(percents),
    }))
    .filter(({ confidence_percent }) => confidence_percent >= min_percent);
  const unknown = compared.unknown.map((name) => ({ ...unknownMember, field: shortName(`/${name}`) }));
  const warnings = [...context.warnings, ...unknown];
  const photos = [query, ...candidates].map(([, percents]) => photosOf(percents));
  const passed = candidates.filter((_side, at) => judged[at]!.problem === undefined);
  return {
    request_id,
    threshold_percent,
    accuracy_mode,
    ...several(query[1]),
    searched,
    results: [
      ...results.slice(0, limit),
      ...judged.flatMap(({ id, problem }) => (problem ? [{ id, problem: problemOf(problem) }] : [])),
    ],
    matches: results.filter(({ match }) => match).length,
    model,
    warnings: [
      ...requestWarnings({ warnings, model }, threshold_percent, calibration, Math.max(...photos)),
      ...disagreementWarnings([query, ...passed], calibration),
    ],
    timings_ms: { queue: round(queue_ms, 1), total: round(total_ms, 1) },
  };
}

const problemOf = (problem: Problem) =>
  ({ ...problemBody(problem), errors: problem.extras.errors }) as UncomparedCandidate['problem'];

const unknownMember = {
  code: 'unknown_field',
  field: '',
  detail: 'The member is unknown to this endpoint and was ignored. Check the spelling of its name.',
} as const;

export const matchEmbeddings = define({
  id: 'match_embeddings',
  method: 'POST',
  path: `${prefix}/face/match/embeddings`,
  scope: 'match:embeddings',
  audited: true,
  takes: 'embeddings',
  members: Object.keys(EmbeddingsRequest.shape),
  success: { description: 'The embeddings were compared', name: 'Embeddings', schema: Embeddings },
  docs: {
    tag: 'match',
    summary: 'Compare one embedding with many',
    description:
      `Compares an embedding from the embed endpoint with up to ${maxCandidates.toLocaleString('en')} others, with the same result as ` +
      `comparing their images; up to ${maxEmbeddings} embeddings of one person count as one, as in match_person. ` +
      'Set `searched` to the size of the gallery in which the candidates were found, because the best match among a million different ' +
      'people scores higher than the best among a few. Disabled by default.',
    curl: ['-H "content-type: application/json"', '--data @embeddings.json'],
  },
  buildResponse(given) {
    const sides = sidesOf(given);
    const { min_agreement_percent } = given.compared.values;
    const rejection = disagreement([sides.query], min_agreement_percent, given.calibration);
    if (rejection) return { rejection };
    const body = bodyOf(given, sides);
    const { accuracy_mode, threshold_percent, matches } = body;
    const best = body.results.find((result) => 'match' in result);
    const uncompared = body.results.filter((result) => 'problem' in result).length;
    // Writes one audit line for all candidates.
    const decision = {
      accuracy_mode,
      threshold_percent,
      candidates: given.compared.candidates.length - uncompared,
      matches,
      ...(best && { confidence_percent: best.confidence_percent, match: best.match }),
    };
    return { body, decisions: [decision] };
  },
});
