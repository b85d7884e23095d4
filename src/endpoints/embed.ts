import { z } from 'zod';
import { type Analysis, accuracyModes, type Face } from '../engine/addon.ts';
import type { Question } from './answer.ts';
import { Detect, detectAnswer } from './detect.ts';
import { define, prefix } from './endpoint.ts';
import { EmbeddedFace, facesOf, image } from './face.ts';
import { lowQuality } from './face-quality.ts';
import { faultsOf } from './faults.ts';
import { answerUnlessRefused, imageCounts, imageRule, optionsOf, refusalOf } from './images.ts';
import { object, text } from './schema.ts';

/** The faces of one image with their embeddings. No face is a refusal. */

export const Embed = Detect.extend({
  image: object('The image and its faces.', { ...image, faces: facesOf(EmbeddedFace).min(1) }),
  embedding: object(
    'What is needed to compare the embeddings: only those of the same pack, version and mode can be compared',
    {
      pack: text('Name of the model pack'),
      version: text('Its version'),
      accuracy_mode: z.enum(accuracyModes).describe('The mode that they were made in'),
      dimensions: z.int().min(1).describe('How many numbers each has'),
      encoding: z.literal('float32-le-base64').describe('Little-endian 32-bit floats, in base64'),
      normalised: z.literal(true).describe('Each is of length 1'),
    },
  ),
}).describe('The faces of one image, with embeddings.');

export type Embed = z.infer<typeof Embed>;

/** Base64 of 32-bit floats; the processors that are supported are little-endian. */
export function base64({ embedding: { buffer, byteOffset, byteLength } }: Pick<Face, 'embedding'>): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** The same with embeddings. Faces that were not asked for get no embedding and no quality warnings. */
function embedAnswer(question: Question, analysis: Analysis): Embed {
  const body = detectAnswer(question, analysis);
  const { face_index, accuracy_mode } = question.options;
  const wanted = (index: number) => face_index < 0 || index === face_index;
  return {
    ...body,
    image: {
      ...body.image,
      faces: body.image.faces.map((face, index) =>
        wanted(index) ? { ...face, embedding: base64(analysis.image.faces[index]!) } : face,
      ),
    },
    embedding: {
      ...question.model,
      accuracy_mode,
      dimensions: analysis.image.faces[0]!.embedding.length,
      encoding: 'float32-le-base64',
      normalised: true,
    },
    warnings: [
      ...body.warnings,
      ...body.image.faces.filter(({ index }) => wanted(index)).flatMap((face) => lowQuality('image', face)),
    ],
  };
}

export const embed = define({
  id: 'embed',
  method: 'POST',
  path: `${prefix}/face/embed/upload`,
  scope: 'embed',
  sensitive: true,
  audited: true,
  takes: 'images',
  fields: { image: imageRule('The'), ...optionsOf('embed') },
  values: 'EmbedValues',
  success: { description: 'The faces were embedded', name: 'Embed', schema: Embed },
  errors: ['faces', 'choice'],
  docs: {
    tag: 'faces',
    summary: 'Get embeddings of the faces in one photo',
    description:
      'Like detect, with an embedding for each face, or for the one that `face_index` names. An embedding is a biometric ' +
      'template: it can be used to recognise the person. Off unless the operator switches it on.',
    curl: ['-F image=@one.jpg', '-F face_index=0', '-F reject_low_quality=true'],
  },
  answer({ question, outcomes: [outcome] }) {
    const { options } = question;
    const faults = faultsOf('image', outcome!, options.face_index);
    if (faults.length > 0) return refusalOf(faults);
    const body = embedAnswer(question, outcome as Analysis);
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
