// The same as do-it-yourself, with OpenCV from JavaScript in place of sharp and typed arrays.
import { byCosine } from '../nets/compare.mjs';
import { serve } from '../peer/server.mjs';

await serve({
  worker: new URL('../nets/worker.mjs', import.meta.url),
  workerData: { pixels: new URL('pixels.mjs', import.meta.url).href },
  tasksPerWorker: 1,
  compare: byCosine,
});
