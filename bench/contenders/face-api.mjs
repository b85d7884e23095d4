// Runs face-api's models on tfjs' WebAssembly backend, which in Node.js has SIMD but no threads.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { readImage } from './pixels.mjs';

const require = createRequire(import.meta.url);
const folderOf = (name) => dirname(require.resolve(`${name}/package.json`));

const tf = require('@tensorflow/tfjs');
const wasm = require('@tensorflow/tfjs-backend-wasm');
wasm.setWasmPaths(`${join(folderOf('@tensorflow/tfjs-backend-wasm'), 'dist')}/`);
await tf.setBackend('wasm');
await tf.ready();

const faceapi = require('@vladmandic/face-api/dist/face-api.node-wasm.js');
const models = join(folderOf('@vladmandic/face-api'), 'model');

const options = new faceapi.SsdMobilenetv1Options({ minConfidence: 0.5 });
for (const name of ['ssdMobilenetv1', 'faceLandmark68Net', 'faceRecognitionNet'])
  await faceapi.nets[name].loadFromDisk(models);

/** Computes the descriptor of only the face with the highest score, because each descriptor costs time. */
export default async function ({ bytes }) {
  const { data, width, height } = await readImage(bytes);
  const image = tf.tensor3d(data, [height, width, 3], 'int32');
  try {
    const face = await faceapi.detectSingleFace(image, options).withFaceLandmarks().withFaceDescriptor();
    return face ? { embedding: face.descriptor } : {};
  } finally {
    image.dispose();
  }
}
