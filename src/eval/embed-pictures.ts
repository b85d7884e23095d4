import { join } from 'node:path';
import { Piscina } from 'piscina';
import type { AccuracyMode } from '../engine/addon.ts';
import { threads } from '../engine/pool.ts';
import type { EmbeddedPicture, EmbedJob } from './embed-worker.ts';

export interface EmbedPicturesOptions {
  packDirectory: string;
  folder: string;
  mode: AccuracyMode;
  minDetScore: number;
  workers: number;
  onPicture(): void;
}

/** Runs every picture through detection and embedding, each once, on `workers` threads. */
export async function embedPictures(
  names: readonly string[],
  options: EmbedPicturesOptions,
): Promise<Map<string, EmbeddedPicture>> {
  const pool = new Piscina<EmbedJob, EmbeddedPicture>({
    filename: new URL('./embed-worker.js', import.meta.url).href,
    ...threads(options.workers),
  });
  const pictures = new Map<string, EmbeddedPicture>();
  try {
    await Promise.all(
      names.map(async (name) => {
        const answer = await pool.run({
          packDirectory: options.packDirectory,
          file: join(options.folder, name),
          mode: options.mode,
          minDetScore: options.minDetScore,
        });
        pictures.set(name, answer);
        options.onPicture();
      }),
    );
  } finally {
    await pool.destroy();
  }
  return pictures;
}
