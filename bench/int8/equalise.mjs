// Which factors make the channels of a net alike; models/prepare/int8/equalise.ts says what for.

import { convolutionOf } from '../../dist/models/prepare/graph.js';
import { equalisable } from '../../dist/models/prepare/int8/equalise.js';
import { encodeFactors } from '../../dist/models/prepare/int8/plan.js';

function largestByInput({ weights, dims }) {
  const [outputs, inputs] = dims;
  const size = weights.length / outputs / inputs;
  const largest = new Float32Array(inputs);
  for (const [i, weight] of weights.entries()) {
    const channel = Math.floor(i / size) % inputs;
    largest[channel] = Math.max(largest[channel], Math.abs(weight));
  }
  return largest;
}

/**
 * `widths` holds for each tensor how far its values reach, by channel. Where readers are depthwise, each channel has a
 * scale of its own on both sides, and all are made equally wide. In front of a pointwise convolution the weights suffer
 * what the values gain, and half of it is moved. Answers the `factors` of a plan.
 */
export function factorsFor(graph, widths) {
  const factors = {};
  for (const { name, tensors, readers } of equalisable(graph)) {
    const convs = readers.map((node) => convolutionOf(graph, node));
    const width = Float32Array.from(widths.get(name), (_, channel) =>
      Math.max(1e-6, ...[...tensors].map((tensor) => widths.get(tensor)[channel])),
    );
    const free = convs.every(({ kind }) => kind === 'depthwise');
    const weights = free ? undefined : convs.map(largestByInput);
    const raw = width.map((value, channel) => {
      if (free) return 1 / value;
      return Math.sqrt(Math.max(1e-6, ...weights.map((largest) => largest[channel])) / value);
    });
    // Dead channels would get any factor; none is made more than a thousand times the usual.
    const usual = raw.toSorted()[raw.length >> 1];
    factors[name] = encodeFactors(
      raw.map((factor) => Math.min(usual * 1000, Math.max(usual / 1000, factor)) / usual),
    );
  }
  return factors;
}
