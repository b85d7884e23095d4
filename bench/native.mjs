// Runs the native pipeline in a loop, without HTTP and Node.js. Prints the times of its stages, of its models and of
// decoding as JSON.
//   node bench/native.mjs [--images small|card|photo|phone] [--mode fast|balance] [--pack DIR] [--seconds S]
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { flags } from '../test/support/report.mjs';
import { pairsOf } from './compare/requests.mjs';
import { buildNative, floor } from './lib/setup.mjs';

const { images, mode, pack, seconds } = flags({
  images: ['small', 'card', 'photo', 'phone'],
  mode: ['fast', 'balance'],
  pack: 'models/packs/default',
  seconds: 5,
});
await buildNative();
const files = (await pairsOf(images)).pairs.flatMap((pair) => pair.files);
const options = ['--mode', mode, '--pack', resolve(pack), '--seconds', `${seconds}`];
const { status, error } = spawnSync(floor, [...options, ...files], { stdio: 'inherit' });
if (error) throw error;
process.exitCode = status ?? 1;
