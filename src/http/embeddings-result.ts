import type { RankedEmbeddings } from '../engine/embeddings.ts';
import type { Calibration } from '../matching/calibration.ts';
import { round, verdictBody } from './match-result.ts';

/** What a worker found of one embedding and many → the answer of the contract. */
export interface EmbeddingsReport {
  request_id: string;
  ranked: RankedEmbeddings;
  calibration: Calibration;
  model: { pack: string; version: string };
  queue_ms: number;
  total_ms: number;
}

export type EmbeddingsBody = ReturnType<typeof embeddingsBody>;

export function embeddingsBody({
  request_id,
  ranked,
  calibration,
  model,
  queue_ms,
  total_ms,
}: EmbeddingsReport) {
  const { threshold_percent, accuracy_mode, searched, min_percent, limit } = ranked.values;
  const results = ranked.candidates
    .map(({ id, ...scores }) => ({ id, ...verdictBody(scores, calibration, searched, threshold_percent) }))
    .filter(({ confidence_percent }) => confidence_percent >= min_percent);
  return {
    request_id,
    threshold_percent,
    accuracy_mode,
    searched,
    /** Best first; those that `limit` leaves out are counted among the matches. */
    results: results.slice(0, limit),
    matches: results.filter(({ match }) => match).length,
    model,
    warnings: ranked.unknown.map((name) => ({
      code: 'unknown_field' as const,
      field: `/${name}`,
      detail: 'The member was ignored: this endpoint does not know it. Look for a mistake in its name.',
    })),
    timings_ms: { queue: round(queue_ms, 1), total: round(total_ms, 1) },
  };
}
