import { join } from 'node:path';
import type { AccuracyMode } from '../engine/addon.ts';
import { withThreads } from '../engine/pool.ts';
import type { EmbeddedImage, EmbedJob } from './embed-worker.ts';

interface EmbedImagesOptions {
  /** That of a pack that is loaded. */
  packDirectory: string;
  folder: string;
  mode: AccuracyMode;
  minDetScore: number;
  workers: number;
  liveScores?: true;
  onImage(): void;
}

/** Detects and embeds the faces of every image once, on `workers` threads. */
export async function embedImages(
  names: readonly string[],
  options: EmbedImagesOptions,
): Promise<Map<string, EmbeddedImage>> {
  const file = new URL('./embed-worker.js', import.meta.url);
  return withThreads<EmbedJob, EmbeddedImage, Map<string, EmbeddedImage>>(
    file,
    options.workers,
    async (run) => {
      const embed = async (name: string): Promise<[string, EmbeddedImage]> => {
        const { packDirectory, folder, mode, minDetScore, liveScores } = options;
        const file = join(folder, name);
        const image = await run({ packDirectory, file, mode, minDetScore, liveScores });
        options.onImage();
        return [name, image];
      };
      return new Map(await Promise.all(names.map(embed)));
    },
  );
}
