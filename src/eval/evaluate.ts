import type { AccuracyMode } from '../engine/addon.ts';
import { dot } from './cohort.ts';
import { embedPictures } from './embed-pictures.ts';
import type { EmbeddedPicture } from './embed-worker.ts';
import { type Accuracy, accuracy, type Operating, type Scored, tarAtFmr } from './metrics.ts';
import type { LabelledPair } from './pairs.ts';

export interface EvaluateOptions {
  pairs: readonly LabelledPair[];
  /** The pictures of the pairs, each once. */
  names: readonly string[];
  folder: string;
  packDirectory: string;
  mode: AccuracyMode;
  minDetScore: number;
  workers: number;
  onPicture(): void;
}

export interface Evaluation {
  mode: AccuracyMode;
  pairs: { same: number; different: number };
  pictures: number;
  /** By the normalised similarity, which the service judges by, and by the cosine alone. */
  by: Record<ScoreKind, { accuracy: Accuracy; operating_points: Operating[] }>;
  without_face: string[];
  /** Pictures that could not be read, with the reason. */
  failures: Record<string, string>;
  pictures_per_second: number;
}

export type ScoreKind = 'normalised' | 'cosine';

const rates = [1e-2, 1e-3];

/** Runs every picture of a list of pairs through the pipeline once and judges the pairs. */
export async function evaluate(options: EvaluateOptions): Promise<Evaluation> {
  const { pairs, names } = options;
  const start = performance.now();
  const pictures = await embedPictures(names, options);
  const seconds = (performance.now() - start) / 1000;
  const judge = (kind: ScoreKind) => {
    const scored = pairs.map((pair) => score(pair, pictures, kind));
    return { accuracy: accuracy(scored), operating_points: rates.map((fmr) => tarAtFmr(scored, fmr)) };
  };
  return {
    mode: options.mode,
    pairs: {
      same: pairs.filter(({ same }) => same).length,
      different: pairs.filter(({ same }) => !same).length,
    },
    pictures: names.length,
    by: { normalised: judge('normalised'), cosine: judge('cosine') },
    without_face: names.filter((name) => {
      const picture = pictures.get(name);
      return picture?.embedding === undefined && picture?.failure === undefined;
    }),
    failures: Object.fromEntries(
      [...pictures].flatMap(([name, { failure }]) => (failure === undefined ? [] : [[name, failure]])),
    ),
    pictures_per_second: names.length / seconds,
  };
}

function score(pair: LabelledPair, pictures: ReadonlyMap<string, EmbeddedPicture>, kind: ScoreKind): Scored {
  const first = pictures.get(pair.image1);
  const second = pictures.get(pair.image2);
  let value = Number.NEGATIVE_INFINITY;
  if (first?.embedding && second?.embedding) {
    value = dot(first.embedding, second.embedding);
    if (kind === 'normalised') value -= (first.cohort_mean + second.cohort_mean) / 2;
  }
  return { score: value, same: pair.same, fold: pair.fold };
}
