import type { Analysis, Face } from '../engine/addon.ts';
import { lowQuality } from '../matching/face-quality.ts';
import type { Form } from './form.ts';
import { cutShort, imageBody, timingsBody } from './match-result.ts';

/** The analysis of one image → the answers of detect and embed. */
interface FacesReport {
  request_id: string;
  form: Pick<Form, 'values' | 'warnings'>;
  analysis: Analysis;
  /** Length of an embedding. */
  dimensions: number;
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

export function detectBody({ request_id, form, analysis, model, queue_ms, total_ms }: FacesReport) {
  return {
    request_id,
    accuracy_mode: form.values.accuracy_mode,
    image: imageBody(analysis.image),
    model,
    warnings: [...form.warnings, ...cutShort('image', analysis.image)],
    timings_ms: timingsBody(queue_ms, analysis.timings_ms, total_ms),
  };
}

/** Faces that were not asked for get no embedding and no quality warnings. */
export function embedBody(report: FacesReport) {
  const body = detectBody(report);
  const { form, analysis, dimensions, model } = report;
  const { face_index, accuracy_mode } = form.values;
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
      ...model,
      accuracy_mode,
      dimensions,
      encoding: 'float32-le-base64' as const,
      normalised: true as const,
    },
    warnings: [
      ...body.warnings,
      ...body.image.faces.filter(({ index }) => wanted(index)).flatMap((face) => lowQuality('image', face)),
    ],
  };
}

/** Base64 of little-endian 32-bit floats, on every processor. */
export function base64({ embedding }: Pick<Face, 'embedding'>): string {
  const bytes = Buffer.alloc(4 * embedding.length);
  for (const [index, value] of embedding.entries()) bytes.writeFloatLE(value, 4 * index);
  return bytes.toString('base64');
}
