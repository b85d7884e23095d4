import { z } from 'zod';
import { isSearchable } from '../engine/further.ts';
import type { Outcome } from '../engine/jobs.ts';
import type { Calibration } from '../scoring/calibration.ts';
import { assessPair, type Comparison, decision, decisionOf, pairs_compared } from './comparison.ts';
import {
  type Analysed,
  define,
  type HandlerResult,
  prefix,
  type Success,
  type Unsettled,
} from './endpoint.ts';
import { Image, imageBody } from './face.ts';
import {
  checkedFace,
  imageCounts,
  imageRule,
  optionsOf,
  rejectionOf,
  responseUnlessRejected,
} from './images.ts';
import { type RequestContext, request_id, rest, timingsBody } from './response-members.ts';
import { cosine, count, object, percent } from './schema.ts';
import { comparedFace, incomplete, requestWarnings } from './warnings.ts';

/** Compares two images. The basic endpoint accepts only a threshold, the advanced endpoint further options. */

export const Pair = object('Two faces that were compared.', {
  image1_face_index: count.describe('Index of the face of image1'),
  image2_face_index: count.describe('Index of the face of image2'),
  similarity: cosine.describe('Same as in the response, for this pair'),
  confidence_percent: percent.describe('Same as in the response, for this pair'),
});

export const Match = object('Result of a comparison. A non-match is a result, not an error.', {
  request_id,
  ...decision,
  image1: Image,
  image2: Image,
  pairs_compared,
  pairs: z.array(Pair).min(1).describe('All compared pairs, best first'),
  ...rest,
});

export type Match = z.infer<typeof Match>;

/** Builds the response body. Decisions use exact numbers; the numbers in the response are rounded. */
function matchBody(
  context: RequestContext,
  { analyses, pairs }: Comparison,
  calibration: Calibration,
): Match {
  const { request_id, options, model } = context;
  const [first, second] = analyses;
  const judged = pairs.sorted().map((pair) => {
    const { image1_face_index, image2_face_index } = pair;
    const verdict = assessPair(pair, calibration, pairs.count, options.threshold_percent);
    return { image1_face_index, image2_face_index, verdict };
  });
  const { verdict, ...best } = judged[0]!;
  const image1 = { ...imageBody(first.image), face_index: best.image1_face_index };
  const image2 = { ...imageBody(second.image), face_index: best.image2_face_index };
  return {
    request_id,
    ...decisionOf(verdict, options),
    image1,
    image2,
    pairs_compared: pairs.count,
    pairs: judged.map(({ verdict: { similarity, confidence_percent }, ...faces }) => {
      return { ...faces, similarity, confidence_percent };
    }),
    model,
    warnings: [
      ...requestWarnings(context, options.threshold_percent, calibration),
      ...incomplete('image1', first.image),
      ...incomplete('image2', second.image),
      ...comparedFace('image1', image1, options.image1_face_index),
      ...comparedFace('image2', image2, options.image2_face_index),
    ],
    timings_ms: timingsBody(context, analyses),
  };
}

const success: Success = {
  description: 'The images were compared, whether they match or not',
  name: 'Match',
  schema: Match,
};

const photos = ['-F image1=@one.jpg', '-F image2=@two.jpg'] as const;
const images = { image1: imageRule('The first image'), image2: imageRule('The second image') };
const advanced = { ...images, ...optionsOf('match_advanced') };

/** Returns the images for a second search. Omits images whose face is selected by index, or as the largest. */
function unsettled({ options, outcomes, comparisons, calibration }: Unsettled): number[] {
  const chosen = [options.image1_face_index, options.image2_face_index];
  if (!options.auto_pair_best && Math.max(...chosen) < 0) return [];
  const [first, second] = outcomes as [Outcome, Outcome];
  const searchable = [0, 1].filter((i) => chosen[i]! < 0 && isSearchable(outcomes[i], options));
  if (searchable.length === 0) return [];
  const result = comparisons.of(first, second, options);
  if (Array.isArray(result)) return [];
  const { best, count } = result.pairs;
  return assessPair(best, calibration, count, options.threshold_percent).match ? [] : searchable;
}

function buildResponse({ context, outcomes, comparisons, calibration }: Analysed): HandlerResult {
  const [first, second] = outcomes as [Outcome, Outcome];
  const result = comparisons.of(first, second, context.options);
  if (Array.isArray(result)) return rejectionOf(result);
  const body = matchBody(context, result, calibration);
  const { accuracy_mode, threshold_percent, confidence_percent, match } = body;
  return responseUnlessRejected(
    body,
    context.options,
    [checkedFace('image1', body.image1), checkedFace('image2', body.image2)],
    [imageCounts(body.image1), imageCounts(body.image2)],
    [{ accuracy_mode, threshold_percent, confidence_percent, match }],
  );
}

export const match = define({
  id: 'match',
  method: 'POST',
  path: `${prefix}/face/match/upload`,
  scope: 'match:basic',
  audited: true,
  takes: 'images',
  fields: { ...images, ...optionsOf('match') },
  advanced,
  values: 'MatchValues',
  success,
  errors: ['faces'],
  docs: {
    tag: 'match',
    summary: 'Compare two photos',
    description:
      'Detects the faces in both images, compares each face of the first with each of the second, and returns the result of the ' +
      'most similar pair. Equivalent to the advanced endpoint with all defaults.',
    curl: photos,
  },
  unsettled,
  buildResponse,
});

export const matchAdvanced = define({
  id: 'match_advanced',
  method: 'POST',
  path: `${prefix}/face/match/upload/advanced`,
  scope: 'match:advanced',
  audited: true,
  takes: 'images',
  fields: advanced,
  values: 'AdvancedMatchValues',
  success,
  errors: ['faces'],
  docs: {
    tag: 'match',
    summary: 'Compare two photos, with all options',
    description:
      'Like the basic endpoint, with options to select faces, trade accuracy for speed, set the minimum detection score, and reject ' +
      'low-quality faces. With one face index, that face is compared with all faces of the other image; with two, the two faces are ' +
      'compared; with none, `auto_pair_best` decides.',
    curl: [...photos, '-F threshold_percent=80', '-F image1_face_index=0', '-F accuracy_mode=fast'],
  },
  unsettled,
  buildResponse,
});
