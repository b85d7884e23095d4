import onnxProto from 'onnx-proto';
import { cutBoxDecoding, rewritePairSoftmax } from './boxes.ts';
import {
  attributeOf,
  constantsOf,
  convolutionOf,
  decodeModel,
  dimsOf,
  encodeModel,
  floatsOf,
  type Graph,
  makeFloats,
  makeIntegers,
  makeNode,
  type Node,
  producersOf,
  type Rewrite,
  readersOf,
  replaceConstant,
  replaceNode,
  scaleChannels,
  wholesOf,
} from './graph.ts';

const { FLOAT } = onnxProto.onnx.TensorProto.DataType;

/** Converts Constant nodes to initializers, because the other passes read only initializers. */
export function hoistConstants(graph: Graph): void {
  graph.node = graph.node.filter((node) => {
    const value = node.opType === 'Constant' ? attributeOf(node, 'value')?.t : undefined;
    if (!value) return true;
    value.name = node.output![0]!;
    graph.initializer.push(value);
    return false;
  });
}

/** Removes constants from the inputs. A caller could override an input, so the runtime would not fold it. */
export function dropConstantInputs(graph: Graph): void {
  const constants = constantsOf(graph);
  graph.input = graph.input.filter((input) => !constants.has(input.name!));
}

/** Smaller weights do not change a sum of 32-bit floats, because activations are far smaller than 1e20. */
const minWeight = 1e-20;

/**
 * Sets tiny weights to 0. Many of them, or their products, are denormal numbers, which are up to a hundred times
 * slower on some CPUs.
 */
function zeroTinyWeights(graph: Graph): void {
  graph.initializer = graph.initializer.map((constant) => {
    const values = constant.dataType === FLOAT ? floatsOf(constant) : undefined;
    if (!values?.some((value) => value !== 0 && Math.abs(value) < minWeight)) return constant;
    const zeroed = values.map((value) => (Math.abs(value) < minWeight ? 0 : value));
    return makeFloats(constant.name!, dimsOf(constant), zeroed);
  });
}

/**
 * Removes nodes that no output depends on. One pass from the end is enough, because nodes are in topological order
 * (ONNX IR, Graphs).
 */
export function dropUnused(graph: Graph): void {
  const used = new Set(graph.output.map((output) => output.name!));
  graph.node = graph.node
    .reverse()
    .filter((node) => {
      const isUsed = node.output!.some((output) => used.has(output));
      if (isUsed) for (const input of node.input!) used.add(input);
      return isUsed;
    })
    .reverse();
  graph.initializer = graph.initializer.filter((constant) => used.has(constant.name!));
}

/**
 * Replaces Reshape(x, [Shape(x)[0], …]) by Reshape(x, [0, …]), where 0 means "unchanged" (ONNX, Reshape). Exporters
 * compute the batch size with four small nodes, which the runtime can remove only if all sides are known.
 */
function keepBatchInReshapes(graph: Graph): void {
  const producers = producersOf(graph);
  const constants = constantsOf(graph);
  const made = (tensor: string | undefined, opType: string) => {
    const node = producers.get(tensor ?? '');
    return node?.opType === opType ? node : undefined;
  };
  for (const reshape of graph.node.filter(({ opType }) => opType === 'Reshape')) {
    const [x, shape] = reshape.input as [string, string];
    const [first, ...rest] = made(shape, 'Concat')?.input ?? [];
    const gather = made(made(first, 'Unsqueeze')?.input?.[0], 'Gather');
    const [from, index] = gather?.input ?? [];
    const isBatch =
      made(from, 'Shape')?.input?.[0] === x && String(wholesOf(constants.get(index ?? ''))) === '0';
    const sides = rest.map((side) => wholesOf(constants.get(side)));
    if (!isBatch || sides.some((side) => side === undefined)) continue;
    const name = `${reshape.output![0]}/shape`;
    graph.initializer.push(makeIntegers(name, [0, ...sides.flatMap((side) => side!)]));
    reshape.input = [x, name];
  }
}

/** All rewrites, in order. docs/research/packs.md has the gain of each. */
const rewrites: Rewrite[] = [
  dropConstantInputs,
  hoistConstants,
  flattenSlopes,
  rewritePrelu,
  rewritePairSoftmax,
  keepBatchInReshapes,
  cutBoxDecoding,
  dropUnused,
  zeroTinyWeights,
];

/** The first version in which constants need not be inputs (ONNX IR, version 4). */
const firstVersionWithoutConstantInputs = 4;

/** Returns a faster model with the same results. Deterministic: equal inputs have equal outputs. */
export function rewriteNet(bytes: Uint8Array): Uint8Array {
  const model = decodeModel(bytes);
  model.irVersion = Math.max(Number(model.irVersion), firstVersionWithoutConstantInputs);
  for (const rewrite of rewrites) rewrite(model.graph as Graph);
  return encodeModel(model);
}

/**
 * Replaces slopes a > 1 by slopes below 1: PReLU(x; a) = −PReLU(−a·x; 1/a). Multiplies the weights of the
 * convolutions before and after the PReLU by the sign and the factor. Skips a PReLU between other operators.
 */
export function flattenSlopes(graph: Graph): void {
  for (const node of graph.node.filter(({ opType }) => opType === 'PRelu')) {
    const constants = constantsOf(graph);
    const slopeName = node.input![1]!;
    const slope = constants.get(slopeName) && floatsOf(constants.get(slopeName)!);
    const around = slope?.some((a) => a > 1) && convolutionsAround(graph, node, slope.length);
    if (!slope || !around) continue;
    const [written, read] = [slope.map((a) => (a > 1 ? -a : 1)), slope.map((a) => (a > 1 ? -1 : 1))];
    scaleChannels(graph, around, written, read);
    replaceConstant(graph, slopeName, (values) => values.map((a) => (a > 1 ? 1 / a : a)));
  }
}

/**
 * Returns the convolutions before and after a PReLU. Returns undefined if another node uses these tensors or shares
 * the constants.
 */
function convolutionsAround(graph: Graph, prelu: Node, channels: number) {
  const [x, slope] = prelu.input as [string, string];
  const [y] = prelu.output as [string];
  const writer = producersOf(graph).get(x);
  const readers = graph.node.filter(({ input }) => input!.includes(y));
  const convolutions = [...(writer ? [writer] : []), ...readers];
  const reads = readersOf(graph);
  const constants = constantsOf(graph);
  const own = [slope, ...convolutions.flatMap(({ input }) => input!.slice(1))];
  const alone =
    writer !== undefined &&
    convolutions.every(({ opType }) => opType === 'Conv') &&
    reads.get(x) === 1 &&
    reads.get(y) === readers.length &&
    own.every((name) => constants.has(name) && reads.get(name) === 1);
  if (!alone || convolutionOf(graph, writer, constants).outputs !== channels) return undefined;
  // scaleChannels does not support grouped convolutions with several channels per group.
  const plain = readers.every((reader) => {
    const { isDepthwise, inputs, outputs } = convolutionOf(graph, reader, constants);
    return !isDepthwise || (inputs === 1 && outputs === channels);
  });
  return plain ? { writers: [writer], readers } : undefined;
}

/**
 * Replaces PReLU by operators that ONNX Runtime supports in its blocked layout (NCHWc). The runtime does not support
 * PReLU in this layout, and would reorder the whole tensor before and after it. Conv is a 1×1 depthwise convolution:
 *
 *   PReLU(x) = a·x + (1 − a)·Relu(x) = Conv(x; a) + Relu(Conv(x; 1 − a))      if no a is above 1
 *                                    = Conv(x; a) + Conv(Relu(x); 1 − a)      for any a
 *
 * The first form is faster, because the runtime fuses its Relu into the convolution before it. In both forms the
 * runtime fuses the sum into the other convolution.
 */
export function rewritePrelu(graph: Graph): void {
  const constants = constantsOf(graph);
  for (const node of graph.node.filter(({ opType }) => opType === 'PRelu')) {
    const slope = constants.get(node.input![1]!);
    if (!slope) throw new Error(`The slope of PReLU ${node.name} is not a constant`);
    replaceNode(graph, node, preluNodes(graph, node, floatsOf(slope)));
  }
}

function preluNodes(graph: Graph, node: Node, slope: Float32Array): Node[] {
  const [x] = node.input as [string];
  const [y] = node.output as [string];
  const [straight, bent, inner] = [`${y}/straight`, `${y}/bent`, `${y}/inner`];
  const channels = slope.length;
  const scale = (from: string, to: string, weights: Float32Array): Node => {
    graph.initializer.push(makeFloats(`${to}/weights`, [channels, 1, 1, 1], weights));
    return makeNode('Conv', [from, `${to}/weights`], to, { group: channels, kernel_shape: [1, 1] });
  };
  const rest = slope.map((a) => 1 - a);
  const bend = rest.every((weight) => weight >= 0)
    ? [scale(x, inner, rest), makeNode('Relu', [inner], bent)]
    : [makeNode('Relu', [x], inner), scale(inner, bent, rest)];
  return [...bend, scale(x, straight, slope), makeNode('Add', [straight, bent], y)];
}
