// human's nets on tfjs' WebAssembly backend, which in Node has SIMD but no threads of its own.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readPicture } from './picture.mjs';

const require = createRequire(import.meta.url);
const folderOf = (name) => dirname(require.resolve(`${name}/package.json`));
const folderUrl = (...parts) => `${pathToFileURL(join(...parts)).href}/`;

// Node's fetch knows no file: URLs, by which alone human can be told of models that lie beside it.
const web = globalThis.fetch;
globalThis.fetch = async (address, init) => {
  const url = String(address.url ?? address);
  if (!url.startsWith('file:')) return web(address, init);
  const type = url.endsWith('.json') ? 'application/json' : 'application/octet-stream';
  return new Response(await readFile(new URL(url)), { headers: { 'content-type': type } });
};

// The package exports its WebAssembly build under no name that Node accepts, so it is asked for by its file.
const dist = dirname(require.resolve('@vladmandic/human'));
const { default: Human } = require(join(dist, 'human.node-wasm.js'));
const off = { enabled: false };
const human = new Human({
  backend: 'wasm',
  wasmPath: `${join(folderOf('@tensorflow/tfjs-backend-wasm'), 'dist')}/`,
  modelBasePath: folderUrl(dist, '../models'),
  debug: false,
  // Each request is of its own: nothing may be carried over from the one before.
  cacheSensitivity: 0,
  filter: off,
  face: {
    enabled: true,
    detector: { rotation: true, maxDetected: 1, return: false },
    mesh: { enabled: true },
    description: { enabled: true },
    iris: off,
    emotion: off,
    antispoof: off,
    liveness: off,
  },
  body: off,
  hand: off,
  object: off,
  gesture: off,
  segmentation: off,
});
await human.load();

export default async function ({ bytes }) {
  const { data, width, height } = await readPicture(bytes);
  const picture = human.tf.tensor(data, [1, height, width, 3], 'int32');
  try {
    const { face, error } = await human.detect(picture);
    if (error) throw new Error(error);
    return face[0]?.embedding ? { embedding: face[0].embedding } : {};
  } finally {
    human.tf.dispose(picture);
  }
}
