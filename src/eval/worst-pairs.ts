import type { Calibration } from '../calibration.ts';
import type { JudgedPair } from './pairs.ts';
import { percentOf } from './thresholds.ts';

export interface WorstPair {
  image1: string;
  image2: string;
  normalised: number;
  cosine: number;
  confidence_percent: number;
}

export interface WorstPairs {
  /** Different people, the most alike first. */
  different: WorstPair[];
  /** The same person, the least alike first. */
  same: WorstPair[];
}

const shown = 12;

/** Where errors come from, matching or not. Pairs without a score, one of whose pictures has no face, are left out. */
export function worstPairs(pairs: readonly JudgedPair[], calibration: Calibration): WorstPairs {
  const rising = pairs
    .filter(({ normalised }) => Number.isFinite(normalised))
    .sort((a, b) => a.normalised - b.normalised);
  const worst = (chosen: readonly JudgedPair[]) =>
    chosen.slice(0, shown).map(
      ({ image1, image2, normalised, cosine }): WorstPair => ({
        image1,
        image2,
        normalised,
        cosine,
        confidence_percent: percentOf(normalised, calibration)!,
      }),
    );
  return {
    different: worst(rising.filter(({ same }) => !same).reverse()),
    same: worst(rising.filter(({ same }) => same)),
  };
}
