// The three nets of the default pack as their author ships them, on onnxruntime-node's JavaScript API.
import { join } from 'node:path';
import ort from 'onnxruntime-node';
import { originalNets } from '../../setup/nets.mjs';

/** One thread a worker: two workers already fill two cores. */
const options = {
  executionProviders: ['cpu'],
  graphOptimizationLevel: 'all',
  executionMode: 'sequential',
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  // The exporter listed every weight as an input as well, which is told for each of them.
  logSeverityLevel: 3,
};

const open = (file) => ort.InferenceSession.create(join(originalNets, file), options);

export const openNets = async () => ({
  detector: await open('fr_detect.onnx'),
  landmarks: await open('fr_landmark.onnx'),
  embedder: await open('fr_feature.onnx'),
});

/** Runs a net with one input of that shape; answers its outputs by name. */
export async function run(session, shape, planes) {
  const outputs = await session.run({ input: new ort.Tensor('float32', planes, shape) });
  return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, data]));
}
