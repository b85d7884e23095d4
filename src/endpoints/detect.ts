import type { Analysis } from '../engine/addon.ts';
import type { Detect } from '../scoring/answers.ts';
import { faultsOf } from '../scoring/compare.ts';
import { withQualityComponents } from '../scoring/face-quality.ts';
import { detectAnswer } from '../scoring/match.ts';
import { define, key, prefix } from './endpoint.ts';
import { imageCounts, imageRule, optionsOf, refusalOf } from './images.ts';
import { example as match } from './match.ts';

/** The faces of one picture. No face is an empty list. */

const { face_index: _, faces, ...image } = match.image1;
export const example: Detect = {
  request_id: match.request_id,
  accuracy_mode: 'balance',
  image: { ...image, faces: withQualityComponents(faces) },
  model: match.model,
  warnings: [],
  timings_ms: { queue: 0.2, decode: 3.1, detect: 3.7, align: 1.3, embed: 5.6, total: 14.4 },
};

export const detect = define({
  id: 'detect',
  method: 'POST',
  path: `${prefix}/face/detect/upload`,
  scope: 'detect',
  price: 1,
  takes: 'pictures',
  fields: { image: imageRule('The'), ...optionsOf('detect') },
  values: 'DetectValues',
  success: { description: 'The faces, if any', name: 'Detect', schema: ({ Detect }) => Detect, example },
  errors: [],
  docs: {
    tag: 'faces',
    summary: 'Find the faces in one photo',
    description:
      'Every face with its box, landmarks, pose and quality, as in a match, and its quality components. No face is an empty list, not an error.',
    curl: [key, '-F image=@one.jpg'],
  },
  answer({ question, outcomes: [outcome] }) {
    const [fault] = faultsOf('image', outcome!, -1);
    if (fault && fault.code !== 'no_face_found') return refusalOf([fault]);
    const body = detectAnswer(question, outcome as Analysis);
    return { body, counts: { comparisons: [], images: [imageCounts(body.image)] } };
  },
});
