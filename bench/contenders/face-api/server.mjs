// @vladmandic/face-api on tfjs-wasm. Variants: its SSD and its tiny detector.
import { serve } from '../peer/server.mjs';

/** Of the distance between two descriptors; its documentation's own. */
const most_distance = 0.6;

await serve({
  worker: new URL('worker.mjs', import.meta.url),
  tasksPerWorker: 1,
  compare(a, b) {
    const distance = Math.hypot(...a.map((value, i) => value - b[i]));
    return { match: distance <= most_distance, similarity: 1 - distance };
  },
});
