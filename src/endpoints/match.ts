import type { Outcome } from '../engine/pool.ts';
import { compare } from '../scoring/compare.ts';
import { matchAnswer } from '../scoring/match.ts';
import { type Analysed, type Answered, define, key, photos, prefix, type Success } from './endpoint.ts';
import { answerUnlessRefused, askedFace, imageCounts, imageRule, optionsOf, refusalOf } from './images.ts';

/** Two images against each other: with the threshold alone, and with all controls. */

const success: Success = {
  description: 'The images were compared, whether they match or not',
  name: 'Match',
  schema: ({ Match }) => Match,
};

const images = { image1: imageRule('First'), image2: imageRule('Second') };
const advanced = { ...images, ...optionsOf('match_advanced') };

function answer({ question, outcomes, calibration }: Analysed): Answered {
  const result = compare(outcomes as [Outcome, Outcome], question.options);
  if (Array.isArray(result)) return refusalOf(result);
  const body = matchAnswer(question, result, calibration);
  const { accuracy_mode, threshold_percent, confidence_percent, match } = body;
  return answerUnlessRefused(
    body,
    question.options,
    [askedFace('image1', body.image1), askedFace('image2', body.image2)],
    [imageCounts(body.image1), imageCounts(body.image2)],
    [{ accuracy_mode, threshold_percent, confidence_percent, match }],
  );
}

export const match = define({
  id: 'match',
  method: 'POST',
  path: `${prefix}/face/match/upload`,
  scope: 'match:basic',
  price: 1,
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
      'Finds every face in both images, compares each face of the first with each of the second, and answers for the most ' +
      'similar pair. The same as the advanced endpoint with all defaults.',
    curl: [key, ...photos],
  },
  answer,
});

export const matchAdvanced = define({
  id: 'match_advanced',
  method: 'POST',
  path: `${prefix}/face/match/upload/advanced`,
  scope: 'match:advanced',
  price: 1,
  audited: true,
  takes: 'images',
  fields: advanced,
  values: 'AdvancedMatchValues',
  success,
  errors: ['faces', 'choice'],
  docs: {
    tag: 'match',
    summary: 'Compare two photos, with controls',
    description:
      'Like the basic endpoint, and lets you choose faces, trade accuracy for speed, set the detection score, and refuse poor faces. ' +
      'With one face index, that face is compared with all faces of the other image; with both, those two are; with none, ' +
      '`auto_pair_best` decides.',
    curl: [key, ...photos, '-F threshold_percent=80', '-F image1_face_index=0', '-F accuracy_mode=fast'],
  },
  answer,
});
