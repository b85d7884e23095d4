import type { Outcome } from '../engine/pool.ts';
import type { Match } from '../scoring/answers.ts';
import { compare } from '../scoring/compare.ts';
import { matchAnswer } from '../scoring/match.ts';
import { type Analysed, type Answered, define, key, photos, prefix, type Success } from './endpoint.ts';
import { answerUnlessRefused, askedFace, imageCounts, imageRule, optionsOf, refusalOf } from './images.ts';

/** Two pictures against each other: with the threshold alone, and with all controls. */

/** Documents show it as an answer. */
export const example: Match = {
  request_id: '01JD8ZK3V6Q4M9T2X7B5C1W0RN',
  match: true,
  confidence_percent: 87,
  threshold_percent: 70,
  similarity: 0.5907,
  false_match_rate: 0.00001,
  extrapolated: true,
  accuracy_mode: 'balance',
  image1: {
    width: 1280,
    height: 960,
    format: 'jpeg',
    orientation: 6,
    faces: [
      {
        index: 0,
        box: { x: 512.4, y: 233, width: 181.2, height: 214.9 },
        landmarks: {
          right_eye: [560.1, 310.2],
          left_eye: [638, 309.5],
          nose: [599.7, 357],
          mouth_right: [568.3, 399.1],
          mouth_left: [631.9, 398],
        },
        detection_score: 0.998,
        found_by: 'primary',
        human_score: 5.3,
        occlusion_score: -6.2,
        pose: { yaw: -4.1, pitch: 2, roll: 0.5 },
        quality: { sharpness: 0.71, brightness: 0.55, face_pixels: 233 },
      },
    ],
    face_index: 0,
  },
  image2: {
    width: 640,
    height: 640,
    format: 'webp',
    orientation: 1,
    faces: [
      {
        index: 0,
        box: { x: 201.7, y: 148.3, width: 142.6, height: 171.8 },
        landmarks: {
          right_eye: [243.9, 211.6],
          left_eye: [306.2, 214],
          nose: [273.5, 250.8],
          mouth_right: [247.1, 283.3],
          mouth_left: [300.4, 285.2],
        },
        detection_score: 0.993,
        found_by: 'primary',
        human_score: 4.1,
        occlusion_score: -5.8,
        pose: { yaw: 6.3, pitch: -1.2, roll: -2.2 },
        quality: { sharpness: 0.64, brightness: 0.48, face_pixels: 186 },
      },
    ],
    face_index: 0,
  },
  pairs_compared: 1,
  pairs: [{ image1_face_index: 0, image2_face_index: 0, similarity: 0.5907, confidence_percent: 87 }],
  model: { pack: 'default', version: '2.2.0' },
  warnings: [],
  timings_ms: { queue: 0.2, decode: 6.1, detect: 7.4, align: 2.5, embed: 11.2, total: 28.3 },
};

const success: Success = {
  description: 'The pictures were compared, whether they match or not',
  name: 'Match',
  schema: ({ Match }) => Match,
  example,
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
    {
      comparisons: [{ accuracy_mode, match, confidence_percent }],
      images: [imageCounts(body.image1), imageCounts(body.image2)],
    },
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
  takes: 'pictures',
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
  takes: 'pictures',
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
