// Who is compared. Each answers `POST /API/v1.0/face/match/upload/advanced` alike, from a fresh process.
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { settings, startFacematch } from './facematch.mjs';
import { startProcess } from './process.mjs';

const pairs = ['small', 'card', 'photo', 'phone', 'mixed'];

/** A folder of contenders/ with a server.mjs. */
function peer(folder, variant) {
  const program = fileURLToPath(new URL(`${folder}/server.mjs`, import.meta.url));
  return async ({ workers, cores }) => {
    const key = randomBytes(32).toString('hex');
    const args = [program, '--workers', String(workers), '--key', key];
    if (variant !== undefined) args.push('--variant', variant);
    const env = { ORT_DISABLE_TELEMETRY: '1', NODE_ENV: 'production' };
    return { ...(await startProcess({ args, env, cores })), key };
  };
}

/**
 * `scenarios` and `modes` are those it is measured in, `clients` how many at once where that is not every number there is.
 * `optional` ones are asked for by `--with`. `packages` are named in the report with their versions.
 */
export const contenders = {
  facematch: {
    title: 'facematch',
    how: `this repository; ${Object.entries(settings)
      .map((pair) => pair.join('='))
      .join(', ')}; its key without a limit; logs to a file`,
    scenarios: [...pairs, 'refused-key', 'refused-form'],
    modes: ['fast', 'balance'],
    start: startFacematch,
  },
  'facematch-again': {
    title: 'facematch, again',
    how: 'the same once more: how far two measurements of one thing lie apart',
    scenarios: [...pairs, 'refused-key', 'refused-form'],
    modes: ['fast', 'balance'],
    start: startFacematch,
  },
  'facematch-int8': {
    title: 'facematch, pack int8',
    how: 'facematch with FACEMATCH_PACK=int8: the embedder in whole numbers of eight bits, for processors with VNNI',
    scenarios: ['small', 'photo'],
    modes: ['fast', 'balance'],
    clients: [1, 8],
    start: (options) => startFacematch({ ...options, env: { ...options.env, FACEMATCH_PACK: 'int8' } }),
  },
  'do-it-yourself': {
    title: 'do-it-yourself',
    how: 'fastify, sharp (one thread, no cache, JPEG shrunk while decoding, to 640 pixels on the longer side), the three nets as published on onnxruntime-node (one thread, sequential), plain JavaScript between them, three pictures a worker at once',
    packages: ['fastify', '@fastify/multipart', 'sharp', 'onnxruntime-node', 'piscina'],
    scenarios: [...pairs, 'refused-key'],
    modes: ['fast', 'balance'],
    start: peer('do-it-yourself'),
  },
  opencv4nodejs: {
    title: 'opencv4nodejs',
    how: 'the same with OpenCV from JavaScript (one thread) for decoding (large JPEGs reduced, to no fewer than 640 pixels on the longer side), resizing and warping; as a cluster of processes, since only one thread of a process can load it',
    packages: ['@u4/opencv4nodejs', 'fastify', '@fastify/multipart', 'onnxruntime-node'],
    scenarios: pairs,
    modes: ['fast', 'balance'],
    optional: true,
    start: peer('opencv4nodejs'),
  },
  'face-api-ssd': {
    title: 'face-api, SSD',
    how: 'its SSD detector, 68 landmarks and descriptor on tfjs-wasm (SIMD), behind fastify and sharp as above',
    packages: ['@vladmandic/face-api', '@tensorflow/tfjs-backend-wasm'],
    scenarios: ['small', 'photo'],
    modes: ['fast'],
    clients: [1, 8],
    start: peer('face-api', 'ssd'),
  },
  'face-api-tiny': {
    title: 'face-api, tiny',
    how: 'the same with its tiny detector',
    packages: ['@vladmandic/face-api', '@tensorflow/tfjs-backend-wasm'],
    scenarios: ['small', 'photo'],
    modes: ['fast'],
    clients: [1, 8],
    start: peer('face-api', 'tiny'),
  },
  human: {
    title: 'human',
    how: 'detector, mesh and description on tfjs-wasm (SIMD), everything else off, behind fastify and sharp as above',
    packages: ['@vladmandic/human', '@tensorflow/tfjs-backend-wasm'],
    scenarios: ['small', 'photo'],
    modes: ['fast'],
    clients: [1, 8],
    start: peer('human'),
  },
  hello: {
    title: 'µWS hello-world',
    how: 'answers every request with five bytes and reads no body',
    scenarios: ['refused-key', 'refused-form'],
    modes: ['fast'],
    start: peer('hello'),
  },
};
