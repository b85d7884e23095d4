// The detector in whole numbers, for its time alone: ranges are those of made-up pictures.

import { encodeModel } from '../../dist/models/prepare/graph.js';
import { openForQuantising } from '../../dist/models/prepare/int8/index.js';
import { rewriteNet } from '../../dist/models/prepare/rewrite.js';
import { inputShape, syntheticPicture } from '../../dist/models/prepare/verify.js';
import { open, race } from './judge.mjs';
import { histogramsOf } from './ranges.mjs';
import { quantised } from './variants.mjs';

const large = (_, conv) => conv?.kind === 'pointwise' && conv.inputs >= 64 && conv.outputs >= 64;
const forms = {
  'detector: Conv': ({ opType }) => opType === 'Conv',
  'detector: pointwise from 64 channels to 64': large,
};

/** Rows { name, ms, ratio }, the float net first. */
export async function raceDetector(published, net, rounds) {
  const shape = inputShape(net);
  const inputs = [1, 2, 3, 4, 5, 6].map((seed) =>
    syntheticPicture(shape, seed).map((byte) => (byte - net.mean) * net.scale),
  );
  const bytes = encodeModel(openForQuantising(rewriteNet(published)));
  const histograms = await histogramsOf(bytes, inputs, shape);
  const nets = [['detector: float', bytes]];
  for (const [name, wants] of Object.entries(forms)) {
    nets.push([name, quantised(bytes, histograms, { rule: 'minmax', wants })]);
  }
  const runs = [];
  for (const [, file] of nets) runs.push(await open(file, shape));
  const times = await race(runs, inputs, rounds);
  return nets.map(([name], index) => ({ name, ...times[index] }));
}
