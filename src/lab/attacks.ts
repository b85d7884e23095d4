import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EmbeddedImage } from './embed-worker.ts';
import { type Interval, wilson } from './metrics.ts';
import { imagesBelow } from './people.ts';

/** How well live scores tell attacks, in the words of ISO/IEC 30107-3: of pictures in `live`, and in `attack`, perhaps by type. */

/** A picture of a folder; `type` is that of the attack, undefined for a live person. */
interface Presentation {
  /** Path within the folder. */
  file: string;
  type: string | undefined;
}

/** Pictures of one type of attack, or of live people. */
export interface PresentationFigures {
  pictures: number;
  /** Those without a face, which have no score. */
  non_responses: number;
  /** Of the others those on the wrong side of the threshold. */
  errors: number;
  /** `errors` of those with a score: APCER or BPCER; NaN where there are none. */
  error_rate: number;
  /** 95 %. */
  error_interval: Interval;
  /** `non_responses` of `pictures`: APNRR or BPNRR. */
  non_response_rate: number;
}

export interface AttackFigures {
  threshold: number;
  /** By type, the worst first. */
  attacks: (PresentationFigures & { type: string })[];
  live: PresentationFigures;
  /** Mean of the worst type's APCER and BPCER; NaN where one of them is. */
  acer: number;
  /** Pictures that could not be read, with the reason. */
  failures: Record<string, string>;
}

/**
 * The pictures below `live`, and those below `attack`, whose first folder there is the type. Throws an Error with a message for
 * people when there are none.
 */
export function readPresentations(folder: string): Presentation[] {
  const below = (name: string) =>
    existsSync(join(folder, name)) ? imagesBelow(join(folder, name)) : ([] as string[]);
  const live = below('live').map((file): Presentation => ({ file: join('live', file), type: undefined }));
  const attacks = below('attack').map((file): Presentation => {
    const [type, ...rest] = file.split('/');
    return { file: join('attack', file), type: rest.length > 0 ? type! : 'attack' };
  });
  if (live.length + attacks.length > 0) return [...live, ...attacks];
  throw new Error(`${folder} should have pictures in folders live and attack, or in one of them`);
}

/** `images` by file; the face that counts is the one in the middle. */
export function attackFigures(
  presentations: readonly Presentation[],
  images: ReadonlyMap<string, EmbeddedImage>,
  threshold: number,
): AttackFigures {
  const failures: Record<string, string> = {};
  const scores = new Map<string | undefined, (number | undefined)[]>();
  for (const { file, type } of presentations) {
    const { faces, chosen, failure } = images.get(file)!;
    if (failure !== undefined) failures[file] = failure;
    else scores.set(type, [...(scores.get(type) ?? []), faces[chosen]?.live_score]);
  }
  const attacks = [...scores]
    .flatMap(([type, its]) =>
      type === undefined ? [] : [{ type, ...figuresOf(its, (score) => score >= threshold) }],
    )
    .sort((a, b) => (b.error_rate || 0) - (a.error_rate || 0));
  const live = figuresOf(scores.get(undefined) ?? [], (score) => score < threshold);
  const acer = ((attacks[0]?.error_rate ?? Number.NaN) + live.error_rate) / 2;
  return { threshold, attacks, live, acer, failures };
}

function figuresOf(
  scores: readonly (number | undefined)[],
  isWrong: (score: number) => boolean,
): PresentationFigures {
  const given = scores.filter((score) => score !== undefined);
  const errors = given.filter(isWrong).length;
  const non_responses = scores.length - given.length;
  return {
    pictures: scores.length,
    non_responses,
    errors,
    error_rate: errors / given.length,
    error_interval: wilson(errors, given.length),
    non_response_rate: non_responses / scores.length,
  };
}
