import { join } from 'node:path';
import { Piscina } from 'piscina';
import type { AccuracyMode } from '../engine/addon.ts';
import { threads } from '../engine/pool.ts';
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

/** Runs `work` with a pool of `count` threads for one kind of task. Rejects when a thread cannot start. */
export async function withThreads<Task, Answer, Result>(
  filename: URL,
  count: number,
  work: (run: (task: Task) => Promise<Answer>) => Promise<Result>,
): Promise<Result> {
  const pool = new Piscina<Task, Answer>({ filename: filename.href, ...threads(count) });
  // Also listens while the pool ends: piscina emits an error for a late answer, and an unhandled one ends the process.
  const failed = new Promise<never>((_, reject) => pool.on('error', reject));
  try {
    return await Promise.race([work((task) => pool.run(task)), failed]);
  } finally {
    await pool.destroy();
  }
}
