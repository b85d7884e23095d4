import { join } from 'node:path';
import type { AccuracyMode } from '../engine/addon.ts';
import { withThreads } from '../engine/pool.ts';
import type { EmbeddedPicture, EmbedJob } from './embed-worker.ts';

interface EmbedPicturesOptions {
  packDirectory: string;
  folder: string;
  mode: AccuracyMode;
  minDetScore: number;
  workers: number;
  onPicture(): void;
}

/** Detects and embeds the faces of every image once, on `workers` threads. */
export async function embedPictures(
  names: readonly string[],
  options: EmbedPicturesOptions,
): Promise<Map<string, EmbeddedPicture>> {
  const file = new URL('./embed-worker.js', import.meta.url);
  return withThreads<EmbedJob, EmbeddedPicture, Map<string, EmbeddedPicture>>(
    file,
    options.workers,
    async (run) => {
      const embed = async (name: string): Promise<[string, EmbeddedPicture]> => {
        const { packDirectory, folder, mode, minDetScore } = options;
        const picture = await run({ packDirectory, file: join(folder, name), mode, minDetScore });
        options.onPicture();
        return [name, picture];
      };
      return new Map(await Promise.all(names.map(embed)));
    },
  );
}
