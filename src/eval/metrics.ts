/** A pair's score and its truth. A picture without a face scores -Infinity: it never matches. */
export interface Scored {
  score: number;
  same: boolean;
  fold: string | undefined;
}

export interface Accuracy {
  mean: number;
  /** Standard deviation over the folds; undefined when there are none. */
  deviation: number | undefined;
  /** The threshold that is best on all pairs. */
  threshold: number;
}

export interface Operating {
  /** False-match rate asked for. */
  fmr: number;
  /** Share of same-person pairs that score at least `threshold`. */
  tar: number;
  threshold: number;
}

/**
 * The threshold with the most right answers, matching when score >= threshold. Between two neighbouring scores it
 * lies in the middle, as the LFW protocol has it.
 */
export function bestThreshold(pairs: readonly Scored[]): number {
  const sorted = [...pairs].sort((a, b) => b.score - a.score);
  let right = pairs.filter((pair) => !pair.same).length;
  let best = { right, threshold: Number.POSITIVE_INFINITY };
  for (const [index, pair] of sorted.entries()) {
    right += pair.same ? 1 : -1;
    const next = sorted[index + 1]?.score ?? Number.NEGATIVE_INFINITY;
    if (next === pair.score || right <= best.right) continue;
    best = { right, threshold: Number.isFinite(next) ? (pair.score + next) / 2 : pair.score };
  }
  return best.threshold;
}

function accuracyAt(pairs: readonly Scored[], threshold: number): number {
  return pairs.filter((pair) => pair.score >= threshold === pair.same).length / pairs.length;
}

/** Cross-validated over the folds where there are any: each fold is judged at the best threshold of the others. */
export function accuracy(pairs: readonly Scored[]): Accuracy {
  const threshold = bestThreshold(pairs);
  const folds = new Set(pairs.map((pair) => pair.fold));
  if (folds.size < 2) return { mean: accuracyAt(pairs, threshold), deviation: undefined, threshold };
  const each = [...folds].map((fold) => {
    const others = pairs.filter((pair) => pair.fold !== fold);
    const own = pairs.filter((pair) => pair.fold === fold);
    return accuracyAt(own, bestThreshold(others));
  });
  const mean = each.reduce((sum, value) => sum + value, 0) / each.length;
  const variance = each.reduce((sum, value) => sum + (value - mean) ** 2, 0) / each.length;
  return { mean, deviation: Math.sqrt(variance), threshold };
}

/**
 * True-accept rate at the lowest threshold whose false-match rate is at most `fmr`. With n different-person pairs,
 * at most floor(fmr * n) of them score as high.
 */
export function tarAtFmr(pairs: readonly Scored[], fmr: number): Operating {
  const different = pairs
    .filter((pair) => !pair.same)
    .map((pair) => pair.score)
    .sort((a, b) => b - a);
  const same = pairs.filter((pair) => pair.same);
  const allowed = Math.floor(fmr * different.length + 1e-9);
  const barrier = different[allowed] ?? Number.NEGATIVE_INFINITY;
  const accepted = same.filter((pair) => pair.score > barrier);
  const threshold = accepted.reduce((least, pair) => Math.min(least, pair.score), Number.POSITIVE_INFINITY);
  return { fmr, tar: accepted.length / same.length, threshold };
}
