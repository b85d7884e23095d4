import { type AnalyseOptions, type Analysis, type Earlier, type ImageReport, maxFaces } from './addon.ts';
import type { Outcome } from './jobs.ts';

/**
 * The second search of an image. The first analysis ends when it has found an upright face, which is enough for
 * most matches. Before a negative result, a second analysis searches the uncertain places, in all four rotations.
 */

/** Returns true if a second search may find more faces. */
export function isSearchable(
  outcome: Outcome | undefined,
  { use_heuristic_fallback }: Pick<AnalyseOptions, 'use_heuristic_fallback'>,
): outcome is Analysis {
  if (!outcome?.ok || !use_heuristic_fallback) return false;
  const { search_timed_out, searched_rotations, faces } = outcome.image;
  return !search_timed_out && searched_rotations !== undefined && faces.length < maxFaces;
}

/** Returns the input of the second search; undefined if there is no candidate. */
export function earlierOf({ image, candidates, cpu_ms }: Analysis): Earlier | undefined {
  if (candidates.length === 0) return undefined;
  return { faces: image.faces.map(({ box }) => box), candidates, cpu_ms };
}

/** Returns the options of the second search. Both searches share the CPU time limit of the image. */
export function remaining<Options extends Pick<AnalyseOptions, 'image_timeout_ms'>>(
  options: Options,
  { cpu_ms }: Earlier,
): Options {
  if (options.image_timeout_ms === undefined) return options;
  return { ...options, image_timeout_ms: Math.max(0, options.image_timeout_ms - cpu_ms) };
}

/** Marks an image as completely searched. */
export function withoutCandidates(first: Analysis): Analysis {
  const { searched_rotations: _, ...image } = first.image;
  return { ...first, image, candidates: [] };
}

/**
 * Merges both searches. If the second search failed, returns the first result, marked as timed out. Throws an
 * Error for an internal failure.
 */
export function withFurther(first: Analysis, further: Outcome): Analysis {
  if (!further.ok && further.code === 'internal_error') throw new Error(further.message);
  if (!further.ok) return { ...first, image: { ...first.image, search_timed_out: true } };
  const { search_timed_out } = further.image;
  const { image, ...rest } = search_timed_out ? first : withoutCandidates(first);
  const { decode, detect, align, embed } = further.timings_ms;
  const spent = first.timings_ms;
  return {
    ...rest,
    image: {
      ...image,
      faces: merged(first, further),
      ...(search_timed_out && { search_timed_out }),
    },
    cpu_ms: first.cpu_ms + further.cpu_ms,
    timings_ms: {
      decode: spent.decode + decode,
      detect: spent.detect + detect,
      align: spent.align + align,
      embed: spent.embed + embed,
    },
  };
}

const weight = ({ box, detection_score }: ImageReport['faces'][number]) =>
  box.width * box.height * detection_score;

function merged({ image }: Analysis, further: Analysis): ImageReport['faces'] {
  const kept = image.faces.filter((_face, index) => !further.replaced?.includes(index));
  return [...kept, ...further.image.faces]
    .toSorted((a, b) => weight(b) - weight(a))
    .slice(0, maxFaces)
    .map((face, index) => ({ ...face, index }));
}
