import { z } from 'zod';
import type { Analysis } from '../engine/addon.ts';
import { isSearchable } from '../engine/further.ts';
import { imageErrorCodes, Problem } from '../errors.ts';
import { assessPair, pairs_compared, verdict } from './comparison.ts';
import { type Analysed, type Decision, define, type ImageCounts, prefix, type Target } from './endpoint.ts';
import { Image, imageBody, live_score } from './face.ts';
import { lowQuality, qualityReasonNames, rejectionOfFaces } from './face-quality.ts';
import { faultMembers, faultsOf, problemBody, problemMembers, problemOf } from './faults.ts';
import {
  checkedFace,
  imageCounts,
  imageRule,
  optionsOf,
  rejectionOf,
  responseUnlessRejected,
} from './images.ts';
import { maxTargets } from './options.ts';
import { accuracy_mode, request_id, rest, threshold_percent, timingsBody } from './response-members.ts';
import { count, listOf, object, optional, text } from './schema.ts';
import { bestOfMany, incomplete, notTheLargest, requestWarnings, Warning } from './warnings.ts';

/**
 * Compares one image with several. An error in image1 rejects the request; an error in a target is reported in
 * its result.
 */

/** Error codes that a target may have. */
const targetFaults = [
  'missing_field',
  'image_too_large',
  ...imageErrorCodes.filter((code) => code !== 'face_index_out_of_range'),
  'low_quality_face',
  'presentation_attack',
] as const;

const target = {
  index: count.describe('Zero-based position among the images sent as image2'),
  filename: text('File name, as sent').exactOptional(),
};

export const Compared = object('An image that was compared with image1.', {
  ...target,
  ...verdict,
  image1_face_index: count.describe('Index of the most similar face of image1'),
  image2: Image,
  pairs_compared,
  warnings: listOf(Warning, 'Warnings about this image'),
});

const { shape: extras } = z.object(faultMembers).omit({ faces_found: true }).partial();
export const Uncompared = object('An image that could not be compared.', {
  ...target,
  problem: object('The error, as in the problem response of a match', {
    code: z.enum(targetFaults).describe('Machine-readable code'),
    ...problemMembers,
    ...extras,
    reasons: optional(z.array(z.enum(qualityReasonNames)), 'With `low_quality_face` only: the reasons'),
    face_index: count.describe('With `presentation_attack` only: index of the face').exactOptional(),
    live_score: live_score.exactOptional(),
  }),
});

export const Many = object(
  'One image compared with several. `face_index` of image1 is the face of the best result.',
  {
    request_id,
    threshold_percent,
    accuracy_mode,
    image1: Image,
    results: listOf(z.xor([Compared, Uncompared]), 'One result for each image2, in the order sent')
      .min(1)
      .max(maxTargets),
    matches: count.describe('Number of results that match'),
    ...rest,
  },
);

export type Many = z.infer<typeof Many>;
export type Compared = z.infer<typeof Compared>;
export type Uncompared = z.infer<typeof Uncompared>;

/** Builds the response body. Each target has its own result. */
function bodyOf(analysed: Analysed): Many {
  const { context, targets, outcomes, calibration } = analysed;
  const { request_id, options, model } = context;
  const first = (outcomes[0] as Analysis).image;
  const { threshold_percent, accuracy_mode, image1_face_index } = options;
  const results = targets.map((target, index) => ({
    index,
    ...(target.filename === undefined ? {} : { filename: target.filename }),
    ...resultOf(analysed, target),
  }));
  const best = results
    .filter((result) => 'match' in result)
    .toSorted((a, b) => b.confidence_percent - a.confidence_percent)[0];
  const matches = results.filter((result) => 'match' in result && result.match).length;
  const image1 = {
    ...imageBody(first),
    face_index: best?.image1_face_index ?? Math.max(0, image1_face_index),
  };
  return {
    request_id,
    threshold_percent,
    accuracy_mode,
    image1,
    results,
    matches,
    model,
    warnings: [
      ...requestWarnings(context, threshold_percent, calibration),
      ...incomplete('image1', first),
      // Without a comparison, no face was selected.
      ...(best === undefined ? [] : notTheLargest('image1', image1, image1_face_index)),
      ...lowQuality('image1', image1.faces[image1.face_index]!),
      ...(matches > 1 ? [bestOfMany(targets.length)] : []),
    ],
    timings_ms: timingsBody(
      context,
      outcomes.filter((outcome) => outcome.ok),
    ),
  };
}

/** Returns the result of a target, or its problem. */
function resultOf(analysed: Analysed, target: Target) {
  try {
    return comparedTarget(analysed, target);
  } catch (error) {
    if (error instanceof Problem) return { problem: problemIn(error) };
    throw error;
  }
}

function comparedTarget(
  { context: { options }, outcomes, comparisons, calibration }: Analysed,
  { image }: Target,
): Omit<Compared, 'index' | 'filename'> {
  if (image instanceof Problem) throw image;
  const result = comparisons.of(outcomes[0]!, outcomes[image]!, options);
  if (Array.isArray(result)) throw problemOf(result);
  const [first, second] = result.analyses;
  const { best, count } = result.pairs;
  const verdict = assessPair(best, calibration, count, options.threshold_percent);
  const image1 = { ...imageBody(first.image), face_index: best.image1_face_index };
  const image2 = { ...imageBody(second.image), face_index: best.image2_face_index };
  const lowQualityWarnings = lowQuality('image2', image2.faces[image2.face_index]!);
  const checkedFaces = [{ field: 'image2', face: image2.faces[image2.face_index]! }];
  const rejection = rejectionOfFaces(options, lowQualityWarnings, checkedFaces);
  if (rejection) throw rejection;
  return {
    ...verdict,
    image1_face_index: best.image1_face_index,
    image2,
    pairs_compared: count,
    warnings: [
      ...incomplete('image2', second.image),
      ...notTheLargest('image1', image1, options.image1_face_index),
      ...notTheLargest('image2', image2, -1),
      ...lowQualityWarnings,
    ],
  };
}

/** Returns the body of a problem without `field`, because the result already identifies the image. */
function problemIn(problem: Problem): Uncompared['problem'] {
  const { errors, ...sent } = problem.extras;
  const members = Object.entries(sent).filter(([name]) => Object.hasOwn(extras, name));
  const reasons = errors?.flatMap(({ reasons = [] }) => reasons) ?? [];
  const attack = errors?.find(({ live_score }) => live_score !== undefined);
  const body = {
    ...problemBody(problem),
    ...Object.fromEntries(members),
    ...(reasons.length > 0 ? { reasons } : {}),
    ...(attack ? { face_index: attack.face_index, live_score: attack.live_score } : {}),
  };
  return body as Uncompared['problem'];
}

function countsOf({ image1, results }: Many): ImageCounts[] {
  const others = results.flatMap((result): Pick<Many['image1'], 'faces'>[] => {
    if ('match' in result) return [result.image2];
    return result.problem.code === 'no_face_found' ? [{ faces: [] }] : [];
  });
  return [image1, ...others].map(imageCounts);
}

function decisionsOf({ accuracy_mode, threshold_percent, results }: Many): Decision[] {
  return results.map((result) => {
    const common = { accuracy_mode, threshold_percent, image2_index: result.index };
    if (!('match' in result)) return { ...common, code: result.problem.code };
    const { confidence_percent, match } = result;
    return { ...common, confidence_percent, match };
  });
}

export const matchMany = define({
  id: 'match_many',
  method: 'POST',
  path: `${prefix}/face/match/upload/many`,
  scope: 'match:many',
  audited: true,
  takes: 'images',
  fields: {
    image1: imageRule('The image to compare'),
    image2: { ...imageRule('An image to compare with image1'), max: maxTargets, targets: true },
    ...optionsOf('match_many'),
  },
  values: 'ManyValues',
  success: {
    description: 'The images were compared; each result has a comparison or a problem',
    name: 'Many',
    schema: Many,
  },
  errors: ['faces'],
  furtherTokens: (_images, targets) => targets - 1,
  tooManyFor: (burst) => ({
    limit: burst,
    detail: `This key can compare image1 with at most ${burst} images per request. Send fewer images as image2.`,
  }),
  docs: {
    tag: 'match',
    summary: 'Compare one photo with several',
    description:
      `Compares \`image1\` with up to ${maxTargets} images sent as \`image2\`. Each \`image2\` has its own result or problem; an error in ` +
      '`image1` rejects the request. If you use only the best of several results, multiply its `false_match_rate` by their ' +
      'number, because each comparison is a chance of a false match.',
    further: ' Each `image2` beyond the first takes one more.',
    curl: ['-F image1=@one.jpg', '-F image2=@two.jpg', '-F image2=@three.jpg', '-F accuracy_mode=fast'],
  },
  // image1 is not searched again, because an additional face would add pairs to every comparison, including matches.
  unsettled({ options, outcomes, targets, comparisons, calibration }) {
    const { image1_face_index, auto_pair_best } = options;
    if (!auto_pair_best && image1_face_index < 0) return [];
    return targets.flatMap(({ image }) => {
      if (typeof image !== 'number' || !isSearchable(outcomes[image], options)) return [];
      const result = comparisons.of(outcomes[0]!, outcomes[image]!, options);
      if (Array.isArray(result)) return [];
      const { best, count } = result.pairs;
      return assessPair(best, calibration, count, options.threshold_percent).match ? [] : [image];
    });
  },
  buildResponse(analysed) {
    const { options } = analysed.context;
    const faults = faultsOf('image1', analysed.outcomes[0]!, options.image1_face_index);
    if (faults.length > 0) return rejectionOf(faults);
    const body = bodyOf(analysed);
    const checkedFaces = [checkedFace('image1', body.image1)];
    return responseUnlessRejected(body, options, checkedFaces, countsOf(body), decisionsOf(body));
  },
});
