import type { Outcome } from '../../engine/pool.ts';
import { faultsOf } from '../../matching/compare.ts';
import { problemOf } from '../../matching/faults.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import { detectBody, embedBody } from '../faces-result.ts';
import { facelessCounts, imageCounts } from '../match-result.ts';
import { json, serverTiming } from '../responses.ts';
import { type Analysed, refuseLowQuality, withPictures } from './pictures.ts';

/** Faces of one picture. No face is an empty list. */
export function detect(context: Context): Promise<Reply> {
  return withPictures(context, 'detect', (analysed) => {
    const [fault] = faultsOf('image', analysed.outcomes[0]!, -1);
    if (fault && fault.code !== 'no_face_found') throw problemOf([fault]);
    return told(context, detectBody(reportOf(context, analysed)));
  });
}

/** The same, with embeddings. No face is a refusal. */
export function embed(context: Context): Promise<Reply> {
  return withPictures(context, 'embed', (analysed) => {
    const { values } = analysed.form;
    const faults = faultsOf('image', analysed.outcomes[0]!, values.face_index);
    if (faults.length > 0) {
      context.counts = facelessCounts(faults);
      throw problemOf(faults);
    }
    const body = embedBody(reportOf(context, analysed));
    if (values.reject_low_quality) refuseLowQuality(body.warnings);
    return told(context, body);
  });
}

function reportOf({ request_id, services }: Context, { form, outcomes, queue_ms, elapsed_ms }: Analysed) {
  const { manifest, model } = services;
  return {
    request_id,
    form,
    // Whoever calls this has looked.
    analysis: outcomes[0] as Extract<Outcome, { ok: true }>,
    dimensions: manifest.embedder.dimensions,
    model,
    queue_ms,
    total_ms: elapsed_ms(),
  };
}

function told(context: Context, body: ReturnType<typeof detectBody> | ReturnType<typeof embedBody>): Reply {
  context.timings_ms = body.timings_ms;
  context.counts = { verdicts: [], images: [imageCounts(body.image)] };
  return json(200, body, [serverTiming(body.timings_ms)]);
}
