import type { Analysis } from '../engine/addon.ts';
import { kindWords } from '../engine/not-an-image.ts';
import type { Many } from '../scoring/answers.ts';
import { faultsOf } from '../scoring/compare.ts';
import { manyAnswer } from '../scoring/many.ts';
import { mostTargets } from '../scoring/match-options.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import { answerUnlessRefused, askedFace, imageCounts, refusalOf } from './counts.ts';
import { define, key, prefix } from './endpoint.ts';
import * as fields from './fields.ts';
import { example as match } from './match.ts';

/** One picture against several. A fault of image1 refuses the request; a fault of a target is reported in its result. */

const { request_id, threshold_percent, accuracy_mode, image1, image2, model, timings_ms } = match;
const example: Many = {
  request_id,
  threshold_percent,
  accuracy_mode,
  image1,
  results: [
    {
      index: 0,
      filename: 'two.jpg',
      match: match.match,
      confidence_percent: match.confidence_percent,
      similarity: match.similarity,
      false_match_rate: match.false_match_rate,
      extrapolated: match.extrapolated,
      image1_face_index: 0,
      image2,
      pairs_compared: 1,
      warnings: [],
    },
    {
      index: 1,
      filename: 'notes.txt',
      problem: {
        code: 'unsupported_image_format',
        status: 415,
        title: 'The image is of a format that is not supported',
        detail: `Send image2 as JPEG, PNG or WebP; this one ${kindWords('text', 'Notes of the meeting')}`,
        detected: 'text',
      },
    },
  ],
  matches: 1,
  model,
  warnings: [],
  timings_ms,
};

function countsOf({ accuracy_mode, image1, results }: Many): MatchCounts {
  const compared = results.filter((result) => 'match' in result);
  const faceless = results.filter((result) => 'problem' in result && result.problem.code === 'no_face_found');
  return {
    comparisons: compared.map(({ match, confidence_percent }) => ({
      accuracy_mode,
      match,
      confidence_percent,
    })),
    images: [
      ...[image1, ...compared.map(({ image2 }) => image2)].map(imageCounts),
      ...faceless.map(() => ({ faces: 0, found_by: 'none' as const })),
    ],
  };
}

/** One for each target. */
function decisionsOf({ accuracy_mode, threshold_percent, results }: Many): Decision[] {
  return results.map((result) => {
    const asked = { accuracy_mode, threshold_percent, target: result.index };
    if (!('match' in result)) return { ...asked, refused: result.problem.code };
    const { confidence_percent, match } = result;
    return { ...asked, confidence_percent, match };
  });
}

export const matchMany = define({
  id: 'match_many',
  method: 'POST',
  path: `${prefix}/face/match/upload/many`,
  scope: 'match:many',
  price: 1,
  audited: true,
  takes: 'pictures',
  fields: {
    image1: fields.image1,
    image2: { ...fields.image2, several: true },
    threshold_percent: fields.threshold_percent,
    image1_face_index: fields.image1_face_index,
    ...fields.look,
    auto_pair_best: fields.auto_pair_best,
    reject_low_quality: fields.reject_low_quality,
    ...fields.attack,
  },
  values: 'ManyValues',
  success: {
    description: 'The image was compared with those that could be compared',
    name: 'Many',
    schema: ({ Many }) => Many,
    example,
  },
  errors: ['faces', 'choice'],
  docs: {
    tag: 'match',
    summary: 'Compare one photo with several',
    description:
      `Compares \`image1\` with each \`image2\`, of which there may be up to ${mostTargets}. Each has a result or a problem of ` +
      'its own. A fault of `image1` is the problem of the request. If you take only the best of several results, consider ' +
      'their number: there were several chances of a false match.',
    further: ' For each `image2` but the first it takes one more.',
    curl: [key, '-F image1=@one.jpg', '-F image2=@two.jpg', '-F image2=@three.jpg', '-F accuracy_mode=fast'],
  },
  answer({ question, targets, outcomes, calibration }) {
    const { choices } = question;
    const faults = faultsOf('image1', outcomes[0]!, choices.image1_face_index);
    if (faults.length > 0) return refusalOf(faults);
    const reference = outcomes[0] as Analysis;
    const body = manyAnswer({ ...question, targets, reference, outcomes, calibration });
    const asked = [askedFace('image1', body.image1)];
    return answerUnlessRefused(body, choices, asked, countsOf(body), decisionsOf(body));
  },
});
