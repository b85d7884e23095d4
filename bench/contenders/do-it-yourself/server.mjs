// What a Node engineer would write in a week: fastify, sharp, onnxruntime-node's JavaScript API, piscina.

import { byCosine } from '../nets/compare.mjs';
import { serve } from '../peer/server.mjs';

await serve({
  worker: new URL('../nets/worker.mjs', import.meta.url),
  workerData: { pixels: new URL('pixels.mjs', import.meta.url).href },
  // The decoding of one picture, on libuv's threads, overlaps the nets of another.
  tasksPerWorker: 3,
  compare: byCosine,
});
