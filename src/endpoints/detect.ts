import type { z } from 'zod';
import type { Analysis } from '../engine/addon.ts';
import { define, prefix } from './endpoint.ts';
import { DetectedFace, facesOf, image, imageBody, withQualityComponents } from './face.ts';
import { faultsOf } from './faults.ts';
import { imageCounts, imageRule, optionsOf, rejectionOf } from './images.ts';
import { accuracy_mode, type RequestContext, request_id, rest, timingsBody } from './response-members.ts';
import { object } from './schema.ts';
import { incomplete } from './warnings.ts';

/** Detects the faces of one image. An image without faces returns an empty list. */

export const Detect = object('Faces of one image.', {
  request_id,
  accuracy_mode,
  image: object('The image and its faces.', { ...image, faces: facesOf(DetectedFace) }),
  ...rest,
});

export type Detect = z.infer<typeof Detect>;

export function detectBody(context: RequestContext, analysis: Analysis): Detect {
  const { request_id, options, warnings, model } = context;
  const image = imageBody(analysis.image);
  return {
    request_id,
    accuracy_mode: options.accuracy_mode,
    image: { ...image, faces: withQualityComponents(image.faces) },
    model,
    warnings: [...warnings, ...incomplete('image', analysis.image)],
    timings_ms: timingsBody(context, [analysis]),
  };
}

export const detect = define({
  id: 'detect',
  method: 'POST',
  path: `${prefix}/face/detect/upload`,
  scope: 'detect',
  takes: 'images',
  fields: { image: imageRule('The image'), ...optionsOf('detect') },
  values: 'DetectValues',
  success: { description: 'The faces, if any', name: 'Detect', schema: Detect },
  errors: [],
  docs: {
    tag: 'faces',
    summary: 'Find the faces in one photo',
    description:
      'Returns every face with box, landmarks, pose, quality and quality components. An image without faces returns an empty list, not an error.',
    curl: ['-F image=@one.jpg'],
  },
  buildResponse({ context, outcomes: [outcome] }) {
    const [fault] = faultsOf('image', outcome!, -1);
    if (fault && fault.code !== 'no_face_found') return rejectionOf([fault]);
    const body = detectBody(context, outcome as Analysis);
    return { body, counts: [imageCounts(body.image)] };
  },
});
