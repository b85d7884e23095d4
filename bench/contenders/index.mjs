// Defines the contenders. Except for the floor, each is a server of `POST /API/v1.0/face/match/upload/advanced` in its
// own process.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root, startProgram, startServer } from '../../test/support/programs.mjs';

/** Settings of facematch that differ from the defaults. The page lists them. */
const settings = {
  // The peers queue any number of requests. By default facematch rejects requests above its queue limit, which would
  // make it look faster.
  FACEMATCH_QUEUE_CAPACITY: '512',
  FACEMATCH_DEADLINE_MS: '120000',
  // The scenario rejected-key sends wrong keys, which are limited by IP address.
  FACEMATCH_AUTH_FAILURES_PER_MINUTE: '60000',
  FACEMATCH_AUTH_FAILURE_BURST: '60000',
};

const facematch =
  (env = {}) =>
  ({ workers, cores }) =>
    startServer({ cores, env: { FACEMATCH_WORKERS: String(workers), ...settings, ...env } });

/** Starts a program of this folder, which prints its origin as JSON when it is ready. */
const peer =
  (program, ...words) =>
  async ({ workers, cores }) => {
    const key = randomBytes(32).toString('hex');
    const file = fileURLToPath(new URL(program, import.meta.url));
    const args = [file, ...words, '--workers', String(workers), '--key', key];
    const env = { ORT_DISABLE_TELEMETRY: '1', NODE_ENV: 'production' };
    const server = await startProgram(process.execPath, args, { ready: /"origin"/, env, cores });
    return { ...server, ...JSON.parse(server.line), key };
  };

const pairs = ['small', 'card', 'photo', 'phone'];
const ours = { scenarios: [...pairs, 'rejected-key'], balance: true, start: facematch() };

/**
 * `scenarios` and `clients` select the measurements; without `clients`, all numbers of clients. They run in mode
 * fast, and with `balance` in both modes. `optional` contenders need `--with` or `--contenders`. The page lists
 * `packages` with their versions.
 */
export const contenders = {
  floor: {
    title: 'floor',
    how: 'the native pipeline in a loop',
    scenarios: pairs,
    balance: true,
    clients: [8],
  },
  facematch: {
    ...ours,
    title: 'facematch',
    how: `this repository; ${Object.entries(settings)
      .map((pair) => pair.join('='))
      .join(', ')}; its key without a limit; logs to a file`,
  },
  'facematch-again': {
    ...ours,
    title: 'facematch, again',
    how: 'the same program again, which shows the noise',
  },
  'facematch-node': {
    title: 'facematch on node:http',
    how: 'facematch with FACEMATCH_HTTP=node',
    scenarios: ['small', 'phone', 'rejected-key'],
    clients: [8],
    optional: true,
    start: facematch({ FACEMATCH_HTTP: 'node' }),
  },
  'facematch-int8': {
    title: 'facematch, pack int8',
    how: 'facematch with FACEMATCH_PACK=int8: the embedder quantised to 8 bits, for CPUs with VNNI',
    scenarios: ['small', 'photo'],
    balance: true,
    clients: [1, 8],
    start: facematch({ FACEMATCH_PACK: 'int8' }),
  },
  'do-it-yourself': {
    title: 'do-it-yourself',
    how: 'fastify, sharp (one thread, no cache, JPEGs scaled to 640 pixels while decoding), the three published models on onnxruntime-node (one thread, sequential), plain JavaScript between them, three images per worker at once',
    packages: ['fastify', '@fastify/multipart', 'sharp', 'onnxruntime-node', 'piscina'],
    scenarios: [...pairs, 'rejected-key'],
    start: peer('server.mjs', '--peer', 'do-it-yourself'),
  },
  opencv4nodejs: {
    title: 'opencv4nodejs',
    how: 'the same with OpenCV from JavaScript (one thread) for decoding (large JPEGs scaled to at least 640 pixels on the longer side), resizing and warping; as a cluster of processes, because only one thread of a process can load it',
    packages: ['@u4/opencv4nodejs', 'fastify', '@fastify/multipart', 'onnxruntime-node'],
    scenarios: pairs,
    optional: true,
    start: peer('server.mjs', '--peer', 'opencv4nodejs'),
  },
  'face-api-ssd': {
    title: 'face-api, SSD',
    how: 'its SSD detector, 68 landmarks and descriptor on tfjs-wasm (SIMD), behind fastify and sharp as above',
    packages: ['@vladmandic/face-api', '@tensorflow/tfjs-backend-wasm'],
    scenarios: ['small', 'photo'],
    clients: [1, 8],
    start: peer('server.mjs', '--peer', 'face-api-ssd'),
  },
  human: {
    title: 'human',
    how: 'detector, mesh and description on tfjs-wasm (SIMD), everything else off, behind fastify and sharp as above',
    packages: ['@vladmandic/human', '@tensorflow/tfjs-backend-wasm'],
    scenarios: ['small', 'photo'],
    clients: [1, 8],
    start: peer('server.mjs', '--peer', 'human'),
  },
  hello: {
    title: 'µWS hello-world',
    how: 'returns five bytes for every request and reads no body',
    scenarios: ['rejected-key'],
    start: peer('hello.mjs'),
  },
};

/** Returns { name: version } of the packages that are installed for a contender. */
export function versionsOf(packages = []) {
  const folders = ['bench/node_modules', 'node_modules'];
  const found = packages.map((name) => {
    const files = folders.map((folder) => join(root, folder, name, 'package.json'));
    const file = files.find((candidate) => existsSync(candidate));
    return [name, file && JSON.parse(readFileSync(file, 'utf8')).version];
  });
  return Object.fromEntries(found.filter(([, version]) => version !== undefined));
}
