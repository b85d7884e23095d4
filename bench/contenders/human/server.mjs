// @vladmandic/human on tfjs-wasm.
import { serve } from '../peer/server.mjs';

/** As its `match.similarity` does by default, without a second copy of the library in this thread. */
const [multiplier, low, high] = [25, 0.2, 0.8];
const least_similarity = 0.5;

await serve({
  worker: new URL('worker.mjs', import.meta.url),
  tasksPerWorker: 1,
  compare(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += (a[i] - b[i]) ** 2;
    const root = Math.sqrt(multiplier * sum);
    const similarity = Math.min(1, Math.max(0, (1 - root / 100 - low) / (high - low)));
    return { match: similarity >= least_similarity, similarity };
  },
});
