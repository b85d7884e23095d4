// What values the tensors of a net take on calibration chips: each is exposed as an output, and its values are counted.
import onnxProto from 'onnx-proto';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { decodeModel, encodeModel } from '../../dist/models/prepare/graph.js';
import { sessionOptions } from '../contenders/nets/sessions.mjs';

const { onnx } = onnxProto;
const bins = 4096;

/** Lowest and highest value, then how many values lie in each of `bins` equal parts between. */
class Histogram {
  low = 0;
  high = 0;
  counts = new Float64Array(bins);

  stretch(values) {
    for (const value of values) {
      if (value < this.low) this.low = value;
      else if (value > this.high) this.high = value;
    }
  }

  count(values) {
    const scale = bins / (this.high - this.low || 1);
    for (const value of values) this.counts[Math.min(bins - 1, ((value - this.low) * scale) | 0)]++;
  }
}

/** A session whose outputs are all tensors that the net's nodes make. */
async function openExposed(bytes) {
  const model = decodeModel(bytes);
  const { graph } = model;
  const outputs = new Set(graph.output.map(({ name }) => name));
  const made = graph.node.flatMap((node) => node.output).filter((name) => !outputs.has(name));
  for (const name of made) graph.output.push(onnx.ValueInfoProto.create({ name }));
  return InferenceSession.create(encodeModel(model), sessionOptions);
}

/** A histogram of each tensor that a node of the net makes, and of its input, by name. */
export async function histogramsOf(bytes, inputs, shape) {
  const session = await openExposed(bytes);
  const [inputName] = session.inputNames;
  const histograms = new Map([inputName, ...session.outputNames].map((name) => [name, new Histogram()]));
  for (const pass of ['stretch', 'count']) {
    for (const input of inputs) {
      const found = await session.run({ [inputName]: new Tensor('float32', input, shape) });
      histograms.get(inputName)[pass](input);
      for (const [name, { data, type }] of Object.entries(found)) {
        if (type === 'float32') histograms.get(name)[pass](data);
      }
    }
  }
  await session.release();
  return histograms;
}

/** How far the values of each tensor reach, highest less lowest, by channel. */
export async function widthsOf(bytes, inputs, shape) {
  const session = await openExposed(bytes);
  const [inputName] = session.inputNames;
  const reach = new Map();
  for (const input of inputs) {
    const found = await session.run({ [inputName]: new Tensor('float32', input, shape) });
    for (const [name, { data, dims }] of Object.entries(found)) {
      const size = data.length / dims[1];
      if (!reach.has(name))
        reach.set(name, { low: new Float32Array(dims[1]), high: new Float32Array(dims[1]) });
      const { low, high } = reach.get(name);
      for (let i = 0; i < data.length; i++) {
        const channel = (i / size) | 0;
        if (data[i] < low[channel]) low[channel] = data[i];
        else if (data[i] > high[channel]) high[channel] = data[i];
      }
    }
  }
  await session.release();
  return new Map([...reach].map(([name, { low, high }]) => [name, high.map((value, i) => value - low[i])]));
}

/** Sum of squared errors when [low, high] is cut into `levels` steps and what lies beyond is clamped. */
function squaredError({ low: from, high: to, counts }, low, high, levels) {
  const width = (to - from) / bins;
  const step = (high - low) / levels;
  let sum = 0;
  for (let i = 0; i < bins; i++) {
    const value = from + (i + 0.5) * width;
    const beyond = value < low ? low - value : value > high ? value - high : 0;
    sum += counts[i] * (beyond > 0 ? beyond ** 2 : step ** 2 / 12);
  }
  return sum;
}

function percentile({ low, high, counts }, share) {
  const cut = counts.reduce((sum, count) => sum + count, 0) * ((1 - share) / 2);
  const width = (high - low) / bins;
  let [first, last] = [0, bins - 1];
  for (let sum = counts[first]; sum < cut; sum += counts[first]) first++;
  for (let sum = counts[last]; sum < cut; sum += counts[last]) last--;
  return [low + first * width, low + (last + 1) * width];
}

function leastError(histogram) {
  let best = [histogram.low, histogram.high];
  const error = ([low, high]) => squaredError(histogram, low, high, 255);
  let least = error(best);
  // One end after the other, again and again: the two hardly depend on each other.
  for (let round = 0; round < 3; round++) {
    for (const end of [0, 1]) {
      const whole = end === 0 ? histogram.low : histogram.high;
      for (let share = 0.2; share <= 1; share += 0.02) {
        const candidate = best.with(end, whole * share);
        const found = error(candidate);
        if (found < least) [best, least] = [candidate, found];
      }
    }
  }
  return best;
}

/** How the range of a tensor is chosen; each answers [low, high], which holds 0. */
export const rangeRules = {
  minmax: ({ low, high }) => [low, high],
  'percentile 99.99': (histogram) => percentile(histogram, 0.9999),
  mse: leastError,
};
