import { parentPort, workerData } from 'node:worker_threads';
import { Problem } from '../errors.ts';
import type { Addon } from './addon.ts';
import { detectText } from './file-kind.ts';
import { remaining } from './further.ts';
import { type Jobs, type Outcome, type Request, type Response, up, type WorkerData } from './jobs.ts';
import { loadAddon } from './load-addon.ts';

/** A drawn face of 96 × 96 pixels in WebP. */
const drawnFace = Buffer.from(
  'UklGRiABAABXRUJQVlA4IBQBAACQDQCdASpgAGAAP3Gsy1i0rymjsBcZypAuCWUA02BRQ7Bl7CVV4O4ReFKW6ADAkSS++stZCsqacJK7uNxy' +
    'LeaVvaP72ywCgMAOqgGoGTiyN/1WVz+Ad3oJ94/DtKbm4MMWA+5urRMSDI9Oomleys8k36/2lgAA/twQlgHKBRxR9lIO2YRGZeBp6av6' +
    'Y8dSt+yAs6xqT5KX+D43WlFhGTkE6COlJj3FucyhmOQWV/K55EanRX471kX0J36Ztjsvm7uCnIYf+tYswahwEBv6nkPjsjvegKkbGuyf' +
    'ML6XSdGRyZMt0ixfaHOmjcYlD9yzl8w7+tNYW4lhdo2Jy9Idff97HniH+Z1d4tPv7bh5Osh8AAAAAAA=',
  'base64',
);

/**
 * Returns the function that piscina calls for each job of a worker thread. Each image is one synchronous native
 * call.
 */
export function serveJobs(jobs: Jobs): (request: Request) => Promise<Response<unknown>> {
  const { pack_directory, cancelled }: WorkerData = workerData;
  const addon = loadAddon();
  tryOnce(addon, pack_directory);
  const check = () => {
    // The output is no longer needed.
    if (Atomics.load(cancelled, 0) !== 0) throw new Problem('deadline_exceeded');
  };
  const cohortScores = (vectors: Float32Array) => addon.cohortScores(pack_directory, vectors, cancelled);
  const run = (request: Request): unknown => {
    if ('name' in request) {
      check();
      return jobs[request.name]!(request.input, { cohortScores, check });
    }
    const { images, options, earlier } = request.analyse;
    return images.map((image, i): Outcome => {
      const first = earlier?.[i];
      const how = first ? remaining(options, first) : options;
      return detectText(addon.analyse(pack_directory, image, how, cancelled, first), image);
    });
  };
  parentPort!.postMessage(up);
  return async (request) => {
    const began_ms = addon.threadCpu();
    const withCpuTime = (response: WithoutCpuTime) => ({ ...response, cpu_ms: addon.threadCpu() - began_ms });
    try {
      return withCpuTime({ ok: true, output: await run(request) });
    } catch (error) {
      if (error instanceof Problem) return withCpuTime({ ok: false, code: error.code, extras: error.extras });
      return withCpuTime({ ok: false, error });
    }
  };
}

type WithoutCpuTime =
  Response<unknown> extends infer R ? (R extends unknown ? Omit<R, 'cpu_ms'> : never) : never;

/** Analyses one image with every model, so that a pack that loads but does not run fails at startup. */
function tryOnce(addon: Addon, pack_directory: string): void {
  const first = addon.analyse(pack_directory, drawnFace, {
    accuracy_mode: 'balance',
    min_det_score: 0.5,
    use_heuristic_fallback: false,
    detect_presentation_attack: true,
    max_pixels: 96 * 96,
    min_side: 1,
  });
  if (!first.ok) throw new Error(`The first inference failed: ${JSON.stringify(first)}`);
}
