import type { AccuracyMode } from '../engine/addon.ts';
import { type EmbeddedPicture, embedPictures } from './embed-pictures.ts';
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
  accuracy: Accuracy;
  operating_points: Operating[];
  without_face: string[];
  /** Pictures that could not be read, with the reason. */
  failures: Record<string, string>;
  pictures_per_second: number;
}

const rates = [1e-2, 1e-3];

/** Runs every picture of a list of pairs through the pipeline once and judges the pairs by the cosine alone. */
export async function evaluate(options: EvaluateOptions): Promise<Evaluation> {
  const { pairs, names } = options;
  const start = performance.now();
  const pictures = await embedPictures(names, options);
  const seconds = (performance.now() - start) / 1000;
  const scored = pairs.map((pair) => score(pair, pictures));
  return {
    mode: options.mode,
    pairs: {
      same: pairs.filter(({ same }) => same).length,
      different: pairs.filter(({ same }) => !same).length,
    },
    pictures: names.length,
    accuracy: accuracy(scored),
    operating_points: rates.map((fmr) => tarAtFmr(scored, fmr)),
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

function score(pair: LabelledPair, pictures: ReadonlyMap<string, EmbeddedPicture>): Scored {
  const first = pictures.get(pair.image1)?.embedding;
  const second = pictures.get(pair.image2)?.embedding;
  const value = first && second ? dot(first, second) : Number.NEGATIVE_INFINITY;
  return { score: value, same: pair.same, fold: pair.fold };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
