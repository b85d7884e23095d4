import type { Analysis } from '../engine/addon.ts';
import { maxTargets } from '../engine/match-options.ts';
import type { Outcome } from '../engine/pool.ts';
import type { Many } from '../scoring/answers.ts';
import { faultsOf } from '../scoring/compare.ts';
import { manyAnswer } from '../scoring/many.ts';
import { type Decision, define, type ImageCounts, key, prefix } from './endpoint.ts';
import { answerUnlessRefused, askedFace, imageCounts, imageRule, optionsOf, refusalOf } from './images.ts';

/** One image against several. A fault of image1 refuses the request; a fault of a target is reported in its result. */

function countsOf({ image1, results }: Many): ImageCounts[] {
  const others = results.flatMap((result): Pick<Many['image1'], 'faces'>[] => {
    if ('match' in result) return [result.image2];
    return result.problem.code === 'no_face_found' ? [{ faces: [] }] : [];
  });
  return [image1, ...others].map(imageCounts);
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
  takes: 'images',
  fields: {
    image1: imageRule('First'),
    image2: { ...imageRule('Second'), several: true },
    ...optionsOf('match_many'),
  },
  values: 'ManyValues',
  success: {
    description: 'The image was compared with those that could be compared',
    name: 'Many',
    schema: ({ Many }) => Many,
  },
  errors: ['faces', 'choice'],
  docs: {
    tag: 'match',
    summary: 'Compare one photo with several',
    description:
      `Compares \`image1\` with each \`image2\`, of which there may be up to ${maxTargets}. Each has a result or a problem of ` +
      'its own. A fault of `image1` is the problem of the request. If you take only the best of several results, consider ' +
      'their number: there were several chances of a false match.',
    further: ' For each `image2` but the first it takes one more.',
    curl: [key, '-F image1=@one.jpg', '-F image2=@two.jpg', '-F image2=@three.jpg', '-F accuracy_mode=fast'],
  },
  answer({ question, targets, outcomes, calibration }) {
    const { options } = question;
    const faults = faultsOf('image1', outcomes[0]!, options.image1_face_index);
    if (faults.length > 0) return refusalOf(faults);
    const analysed = outcomes as [Analysis, ...Outcome[]];
    const body = manyAnswer({ ...question, targets, outcomes: analysed, calibration });
    const asked = [askedFace('image1', body.image1)];
    return answerUnlessRefused(body, options, asked, countsOf(body), decisionsOf(body));
  },
});
