// Cross-layer equalisation (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias Correction"):
// one scale a tensor suits its channels badly where they differ in size. A convolution is linear and f·PReLU(x) =
// PReLU(f·x) for f > 0, so a factor a channel moves from a convolution into those that read it, and the net stays the same.
import { constantsOf, dimsOf, floatsOf, makeFloats, producersOf } from '../../dist/models/prepare/graph.js';
import { convolution } from './graph.mjs';

/** Tensors whose channels must keep one scale: an activation's two sides, and all that meets in a sum. */
function groupsOf(graph) {
  const groupOf = new Map();
  const join = (names) => {
    const joined = new Set(names.flatMap((name) => [...(groupOf.get(name) ?? [name])]));
    for (const name of joined) groupOf.set(name, joined);
  };
  for (const { opType, input, output } of graph.node) {
    if (opType === 'PRelu') join([input[0], output[0]]);
    else if (opType === 'Add') join([...input, ...output]);
    else join([output[0]]);
  }
  return new Set(groupOf.values());
}

/** Multiplies the values of a node's constant, which nobody else reads. */
function scaleConstant(graph, node, position, factorOf) {
  const name = node.input[position];
  const at = graph.initializer.findIndex((constant) => constant.name === name);
  const constant = graph.initializer[at];
  graph.initializer[at] = makeFloats(
    name,
    dimsOf(constant),
    floatsOf(constant).map((value, i) => value * factorOf(i)),
  );
}

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
 * what the values gain: `balance` is the share of it that is moved, 0…1.
 */
export function equalise(graph, widths, balance) {
  for (const group of groupsOf(graph)) {
    const writers = graph.node.filter((node) => node.opType === 'Conv' && group.has(node.output[0]));
    const readers = graph.node.filter((node) => group.has(node.input[0]) && !group.has(node.output[0]));
    if (readers.length === 0 || readers.some(({ opType }) => opType !== 'Conv')) continue;
    const constants = constantsOf(graph);
    const convs = readers.map((node) => convolution(graph, node, constants));
    const [name] = group;
    const width = Float32Array.from(widths.get(name), (_, channel) =>
      Math.max(1e-6, ...[...group].map((tensor) => widths.get(tensor)[channel])),
    );
    const free = convs.every(({ kind }) => kind === 'depthwise');
    const weights = free ? undefined : convs.map(largestByInput);
    const raw = width.map((value, channel) => {
      if (free) return 1 / value;
      const weight = Math.max(1e-6, ...weights.map((largest) => largest[channel]));
      return weight ** (1 - balance) / value ** balance;
    });
    // Dead channels would get any factor; none is made more than a thousand times the usual.
    const usual = raw.toSorted()[raw.length >> 1];
    const factors = raw.map((factor) => Math.min(usual * 1000, Math.max(usual / 1000, factor)) / usual);
    for (const node of writers) {
      const { weights: values, outputs } = convolution(graph, node, constants);
      const size = values.length / outputs;
      scaleConstant(graph, node, 1, (i) => factors[Math.floor(i / size)]);
      scaleConstant(graph, node, 2, (i) => factors[i]);
    }
    for (const [index, node] of readers.entries()) {
      const { dims, kind } = convs[index];
      const size = dims[2] * dims[3];
      const channel =
        kind === 'depthwise' ? (i) => Math.floor(i / size) : (i) => Math.floor(i / size) % dims[1];
      scaleConstant(graph, node, 1, (i) => 1 / factors[channel(i)]);
    }
  }
}

/**
 * A slope a > 1 as one below: PReLU(x; a) = −PReLU(−a·x; 1/a). The sign and the factor go into the convolutions around.
 */
export function flattenSlopes(graph) {
  const producers = producersOf(graph);
  for (const node of graph.node.filter(({ opType }) => opType === 'PRelu')) {
    const slope = floatsOf(constantsOf(graph).get(node.input[1]));
    if (slope.every((a) => a <= 1)) continue;
    const conv = producers.get(node.input[0]);
    const readers = graph.node.filter(({ input }) => input.includes(node.output[0]));
    if (readers.some(({ opType }) => opType !== 'Conv'))
      throw new Error(`A sum reads PReLU ${node.output[0]}`);
    const { weights, outputs } = convolution(graph, conv);
    const size = weights.length / outputs;
    const before = (channel) => (slope[channel] > 1 ? -slope[channel] : 1);
    scaleConstant(graph, conv, 1, (i) => before(Math.floor(i / size)));
    scaleConstant(graph, conv, 2, before);
    for (const reader of readers) {
      const { dims, kind } = convolution(graph, reader);
      const area = dims[2] * dims[3];
      const channel = (i) => (kind === 'depthwise' ? Math.floor(i / area) : Math.floor(i / area) % dims[1]);
      scaleConstant(graph, reader, 1, (i) => (slope[channel(i)] > 1 ? -1 : 1));
    }
    const at = graph.initializer.findIndex(({ name }) => name === node.input[1]);
    const name = graph.initializer[at].name;
    graph.initializer[at] = makeFloats(
      name,
      dimsOf(graph.initializer[at]),
      slope.map((a) => (a > 1 ? 1 / a : a)),
    );
  }
}
