import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EmbeddedImage } from './embed-worker.ts';
import { wilson } from './metrics.ts';
import { imagesBelow } from './people.ts';

/** How well live scores tell attacks, in the words of ISO/IEC 30107-3: of images in `live`, and in `attack`, perhaps by type. */

/** The figures of one type of attack, or of live people. */
export type PresentationFigures = ReturnType<typeof figuresOf>;
export type AttackFigures = ReturnType<typeof attackFigures>;

/**
 * The images below `live`, and those below `attack`, whose first folder there is the type: by path within the folder, the type
 * undefined for a live person. Throws an Error with a message for people when there are none.
 */
export function readPresentations(folder: string) {
  const below = (name: string): string[] =>
    existsSync(join(folder, name)) ? imagesBelow(join(folder, name)) : [];
  const found = [
    ...below('live').map((file) => ({ file: join('live', file), type: undefined })),
    ...below('attack').map((file) => {
      const type = file.includes('/') ? file.split('/')[0] : 'attack';
      return { file: join('attack', file), type };
    }),
  ];
  if (found.length > 0) return found;
  throw new Error(`${folder} should have images in folders live and attack, or in one of them`);
}

/**
 * The rates of the attacks by type, the worst first, of live people, and ACER: the mean of the worst type's APCER and BPCER, NaN
 * where one of them is. `images` by file; the face that counts is the one in the middle.
 */
export function attackFigures(
  presentations: ReturnType<typeof readPresentations>,
  images: ReadonlyMap<string, EmbeddedImage>,
  threshold: number,
) {
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

function figuresOf(scores: readonly (number | undefined)[], isWrong: (score: number) => boolean) {
  const given = scores.filter((score) => score !== undefined);
  const errors = given.filter(isWrong).length;
  const non_responses = scores.length - given.length;
  return {
    images: scores.length,
    // Images without a face have no score; this is APNRR or BPNRR.
    non_responses,
    // This is APCER or BPCER: the share of the others on the wrong side of the threshold, NaN where there are none.
    errors,
    error_rate: errors / given.length,
    error_interval: wilson(errors, given.length),
    non_response_rate: non_responses / scores.length,
  };
}
