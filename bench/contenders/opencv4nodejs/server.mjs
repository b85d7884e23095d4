// The same as do-it-yourself, with OpenCV from JavaScript in place of sharp and typed arrays. opencv4nodejs keeps its
// classes in static variables: a second thread that loads it takes the process down.
import { byCosine } from '../nets/compare.mjs';
import { serveFromProcesses } from '../peer/cluster.mjs';

await serveFromProcesses({
  async open() {
    const { recogniser } = await import('../nets/worker.mjs');
    return recogniser(await import('./pixels.mjs'));
  },
  // One is decoded on a thread of libuv while another goes through the nets.
  tasks: 3,
  compare: byCosine,
});
