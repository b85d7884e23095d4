// The three nets of the default pack on onnxruntime-node's JavaScript API: unless told otherwise, as their author ships them.
import { join } from 'node:path';
import ort from 'onnxruntime-node';
import { originalNets } from '../../setup/nets.mjs';

/** One thread a worker: two workers already fill two cores. */
export const sessionOptions = {
  executionProviders: ['cpu'],
  graphOptimizationLevel: 'all',
  executionMode: 'sequential',
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  // The exporter listed every weight as an input as well, which is told for each of them.
  logSeverityLevel: 3,
};

/** Files as their author ships them. */
export const published = {
  detector: join(originalNets, 'fr_detect.onnx'),
  landmarks: join(originalNets, 'fr_landmark.onnx'),
  embedder: join(originalNets, 'fr_feature.onnx'),
};

/** Sessions by the names of their files' keys. */
export async function openNets(files = published) {
  const opened = Object.entries(files).map(async ([name, file]) => [
    name,
    await ort.InferenceSession.create(file, sessionOptions),
  ]);
  return Object.fromEntries(await Promise.all(opened));
}

/** Runs a net with one input of that shape; answers its outputs by name. */
export async function run(session, shape, planes) {
  const outputs = await session.run({ input: new ort.Tensor('float32', planes, shape) });
  return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, data]));
}
