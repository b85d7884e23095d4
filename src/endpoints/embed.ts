import type { Analysis } from '../engine/addon.ts';
import { faultsOf } from '../scoring/compare.ts';
import { embedAnswer } from '../scoring/match.ts';
import { define, key, prefix } from './endpoint.ts';
import { answerUnlessRefused, imageCounts, imageRule, optionsOf, refusalOf } from './images.ts';

/** The faces of one image with their embeddings. No face is a refusal. */

export const embed = define({
  id: 'embed',
  method: 'POST',
  path: `${prefix}/face/embed/upload`,
  scope: 'embed',
  price: 1,
  sensitive: true,
  audited: true,
  takes: 'images',
  fields: { image: imageRule('The'), ...optionsOf('embed') },
  values: 'EmbedValues',
  success: { description: 'The faces were embedded', name: 'Embed', schema: ({ Embed }) => Embed },
  errors: ['faces', 'choice'],
  docs: {
    tag: 'faces',
    summary: 'Get embeddings of the faces in one photo',
    description:
      'Like detect, with an embedding for each face, or for the one that `face_index` names. An embedding is a biometric ' +
      'template: it can be used to recognise the person. Off unless the operator switches it on.',
    curl: [key, '-F image=@one.jpg', '-F face_index=0', '-F reject_low_quality=true'],
  },
  answer({ question, outcomes: [outcome], dimensions }) {
    const { options } = question;
    const faults = faultsOf('image', outcome!, options.face_index);
    if (faults.length > 0) return refusalOf(faults);
    const body = embedAnswer(question, outcome as Analysis, dimensions);
    const given = body.image.faces.filter((face) => 'embedding' in face);
    return answerUnlessRefused(
      body,
      options,
      given.map((face) => ({ field: 'image', face })),
      [imageCounts(body.image)],
      [{ accuracy_mode: body.accuracy_mode, faces: given.length }],
    );
  },
});
