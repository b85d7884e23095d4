import { join } from 'node:path';
import { type AccuracyMode, threads } from 'facematch/for-lab';
import { Piscina } from 'piscina';
import type { EmbeddedImage, EmbedTask } from './embed-worker.ts';

export interface EmbedImagesOptions {
  /** That of a pack that is loaded. */
  packDirectory: string;
  folder: string;
  mode: AccuracyMode;
  minDetScore: number;
  workers: number;
  liveScores?: true;
  onImage(): void;
}

/** Detects and embeds the faces of every image once, on `workers` threads. By name, in the order of the names. */
export async function embedImages(
  names: readonly string[],
  { folder, workers, onImage, ...how }: EmbedImagesOptions,
): Promise<Map<string, EmbeddedImage>> {
  const tasks = names.map((name) => ({ ...how, file: join(folder, name) }));
  const worker = new URL('./embed-worker.js', import.meta.url);
  const images = await runTasks<EmbedTask, EmbeddedImage>(worker, workers, tasks, onImage);
  return new Map(names.map((name, i) => [name, images[i]!]));
}

/** The answers to tasks by `count` threads of a file; `onTask` is called after each. Rejects when a thread cannot start. */
export async function runTasks<Task, Answer>(
  filename: URL,
  count: number,
  tasks: readonly Task[],
  onTask: () => void,
): Promise<Answer[]> {
  const pool = new Piscina<Task, Answer>({ filename: filename.href, ...threads(count) });
  // This listens while the pool ends as well: piscina emits an error for a late answer, and an unhandled one ends the process.
  const failed = new Promise<never>((_, reject) => pool.on('error', reject));
  const answers = tasks.map(async (task) => {
    const answer = await pool.run(task);
    onTask();
    return answer;
  });
  try {
    return await Promise.race([Promise.all(answers), failed]);
  } finally {
    await pool.destroy();
  }
}
