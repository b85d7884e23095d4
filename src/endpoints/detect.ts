import type { Analysis } from '../engine/addon.ts';
import { faultsOf } from '../scoring/compare.ts';
import { detectAnswer } from '../scoring/match.ts';
import { define, key, prefix } from './endpoint.ts';
import { imageCounts, imageRule, optionsOf, refusalOf } from './images.ts';

/** The faces of one image. No face is an empty list. */

export const detect = define({
  id: 'detect',
  method: 'POST',
  path: `${prefix}/face/detect/upload`,
  scope: 'detect',
  price: 1,
  takes: 'images',
  fields: { image: imageRule('The'), ...optionsOf('detect') },
  values: 'DetectValues',
  success: { description: 'The faces, if any', name: 'Detect', schema: ({ Detect }) => Detect },
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
    return { body, counts: [imageCounts(body.image)] };
  },
});
