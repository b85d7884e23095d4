import type { Analysis } from '../engine/addon.ts';
import { base64 } from '../engine/cosine.ts';
import type { Detect, Embed } from './answers.ts';
import { lowQuality } from './face-quality.ts';
import { cutShort, imageBody, type Question, timingsBody } from './match.ts';
import { withQualityComponents } from './quality-components.ts';

/** The analysis of one image → the answer of detect. */
export function detectAnswer(question: Question, analysis: Analysis): Detect {
  const { request_id, options, warnings, model, queue_ms, total_ms } = question;
  const image = imageBody(analysis.image);
  return {
    request_id,
    accuracy_mode: options.accuracy_mode,
    image: { ...image, faces: withQualityComponents(image.faces) },
    model,
    warnings: [...warnings, ...cutShort('image', analysis.image)],
    timings_ms: timingsBody(queue_ms, analysis.timings_ms, total_ms),
  };
}

/** The same with embeddings, of a length. Faces that were not asked for get no embedding and no quality warnings. */
export function embedAnswer(question: Question, analysis: Analysis, dimensions: number): Embed {
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
    /** Needed to compare the embeddings. */
    embedding: {
      ...question.model,
      accuracy_mode,
      dimensions,
      encoding: 'float32-le-base64',
      normalised: true,
    },
    warnings: [
      ...body.warnings,
      ...body.image.faces.filter(({ index }) => wanted(index)).flatMap((face) => lowQuality('image', face)),
    ],
  };
}
