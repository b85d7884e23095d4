// Loads human's models on tfjs' WebAssembly backend, which in Node.js has SIMD but no threads.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const folderOf = (name) => dirname(require.resolve(`${name}/package.json`));
const folderUrl = (...parts) => `${pathToFileURL(join(...parts)).href}/`;

// human loads local models only from file: URLs, which Node's fetch does not support.
const web = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const url = String(input.url ?? input);
  if (!url.startsWith('file:')) return web(input, init);
  const type = url.endsWith('.json') ? 'application/json' : 'application/octet-stream';
  return new Response(await readFile(new URL(url)), { headers: { 'content-type': type } });
};

const off = { enabled: false };

/**
 * Loads human with dense landmarks and the outputs that `face` enables. It finds only the face with the highest score,
 * and does not track faces from image to image.
 */
export async function loadHuman(face = {}) {
  // The package does not export its WebAssembly build for Node, so it is loaded by its path.
  const dist = dirname(require.resolve('@vladmandic/human'));
  const { default: Human } = require(join(dist, 'human.node-wasm.js'));
  const human = new Human({
    backend: 'wasm',
    wasmPath: `${join(folderOf('@tensorflow/tfjs-backend-wasm'), 'dist')}/`,
    modelBasePath: folderUrl(dist, '../models'),
    debug: false,
    // Disables caching, because requests are independent.
    cacheSensitivity: 0,
    filter: off,
    face: {
      enabled: true,
      detector: { rotation: true, maxDetected: 1, return: false },
      mesh: { enabled: true },
      description: off,
      iris: off,
      emotion: off,
      antispoof: off,
      liveness: off,
      ...face,
    },
    body: off,
    hand: off,
    object: off,
    gesture: off,
    segmentation: off,
  });
  await human.load();
  return human;
}

/** Resolves to the face with the highest score in an RGB image; undefined if there is none. */
export async function detectFace(human, { data, width, height }) {
  const image = human.tf.tensor(data, [1, height, width, 3], 'int32');
  try {
    const { face, error } = await human.detect(image);
    if (error) throw new Error(error);
    return face[0];
  } finally {
    human.tf.dispose(image);
  }
}
