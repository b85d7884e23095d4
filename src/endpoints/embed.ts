import { z } from 'zod';
import { type Analysis, accuracyModes, type Face } from '../engine/addon.ts';
import { Detect, detectBody } from './detect.ts';
import { define, prefix } from './endpoint.ts';
import { EmbeddedFace, facesOf, image } from './face.ts';
import { lowQualityToEmbed } from './face-quality.ts';
import { faultsOf } from './faults.ts';
import { imageCounts, imageRule, optionsOf, rejectionOf, responseUnlessRejected } from './images.ts';
import type { RequestContext } from './response-members.ts';
import { object, text } from './schema.ts';

/** Computes the embeddings of the faces of one image. An image without faces is an error. */

export const Embed = Detect.extend({
  image: object('The image and its faces.', { ...image, faces: facesOf(EmbeddedFace).min(1) }),
  embedding: object(
    'Format of the embeddings. Only embeddings of the same pack, version and mode can be compared',
    {
      pack: text('Name of the model pack'),
      version: text('Version of the pack'),
      accuracy_mode: z.enum(accuracyModes).describe('Accuracy mode in which they were computed'),
      dimensions: z.int().min(1).describe('Length of each embedding'),
      encoding: z.literal('float32-le-base64').describe('Little-endian 32-bit floats, in base64'),
      normalised: z.literal(true).describe('Each embedding has unit length'),
    },
  ),
}).describe('Faces of one image, with embeddings.');

export type Embed = z.infer<typeof Embed>;

/** Encodes the embedding as base64 of 32-bit floats, little-endian like every supported CPU. */
export function base64({ embedding: { buffer, byteOffset, byteLength } }: Pick<Face, 'embedding'>): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** Adds the embeddings and the quality warnings of the requested faces. */
function embedBody(context: RequestContext, analysis: Analysis): Embed {
  const body = detectBody(context, analysis);
  const { face_index, accuracy_mode } = context.options;
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
      ...context.model,
      accuracy_mode,
      dimensions: analysis.image.faces[0]!.embedding.length,
      encoding: 'float32-le-base64',
      normalised: true,
    },
    warnings: [
      ...body.warnings,
      ...body.image.faces
        .filter(({ index }) => wanted(index))
        .flatMap((face) => lowQualityToEmbed('image', face)),
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
  fields: { image: imageRule('The image'), ...optionsOf('embed') },
  values: 'EmbedValues',
  success: { description: 'Faces with embeddings', name: 'Embed', schema: Embed },
  errors: ['faces'],
  docs: {
    tag: 'faces',
    summary: 'Get embeddings of the faces in one photo',
    description:
      'Like detect, with an embedding for each face, or only for the face selected by `face_index`. An embedding is a biometric ' +
      'template: it can be used to recognise the person. Disabled by default.',
    curl: ['-F image=@one.jpg', '-F face_index=0', '-F reject_low_quality=true'],
  },
  buildResponse({ context, outcomes: [outcome] }) {
    const { options } = context;
    const faults = faultsOf('image', outcome!, options.face_index);
    if (faults.length > 0) return rejectionOf(faults);
    const body = embedBody(context, outcome as Analysis);
    const given = body.image.faces.filter((face) => 'embedding' in face);
    return responseUnlessRejected(
      body,
      options,
      given.map((face) => ({ field: 'image', face })),
      [imageCounts(body.image)],
      [{ accuracy_mode: body.accuracy_mode, embeddings_returned: given.length }],
    );
  },
});
