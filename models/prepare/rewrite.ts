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

/** Constant nodes become initializers, the one form that the other passes search for. */
export function hoistConstants(graph: Graph): void {
  graph.node = graph.node.filter((node) => {
    const value = node.opType === 'Constant' ? attributeOf(node, 'value')?.t : undefined;
    if (!value) return true;
    value.name = node.output![0]!;
    graph.initializer.push(value);
    return false;
  });
}

/** A constant that is listed as an input too could be overridden by a caller, so the runtime may not fold it. */
export function dropConstantInputs(graph: Graph): void {
  const constants = constantsOf(graph);
  graph.input = graph.input.filter((input) => !constants.has(input.name!));
}

/**
 * A weight below this changes no sum of a float net, because activations are far smaller than its inverse.
 */
const tiniest = 1e-20;

/**
 * Weights that training has let decay to next to nothing become 0. Many are denormal or make denormal
 * products, and some CPUs take a hundred times as long for these.
 */
function zeroTinyWeights(graph: Graph): void {
  graph.initializer = graph.initializer.map((constant) => {
    const values = constant.dataType === FLOAT ? floatsOf(constant) : undefined;
    if (!values?.some((value) => value !== 0 && Math.abs(value) < tiniest)) return constant;
    const zeroed = values.map((value) => (Math.abs(value) < tiniest ? 0 : value));
    return makeFloats(constant.name!, dimsOf(constant), zeroed);
  });
}

/**
 * Removes nodes on which no output depends. Nodes are in topological order (ONNX IR, Graphs), so one walk
 * from the end is enough.
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
 * Reshape(x, [Shape(x)[0], …]) becomes Reshape(x, [0, …]): zero means "unchanged" (ONNX, Reshape). Exporters
 * write four small nodes to keep the batch, which a runtime can only fold away if every side is known.
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

/** Every rewrite, in order. models/README.md has the gain of each. */
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

/** From this version on a constant need not be listed as an input (ONNX IR, version 4). */
const firstVersionWithoutConstantInputs = 4;

/** Returns the same function as `bytes`, faster. Deterministic: equal bytes in, equal bytes out. */
export function rewriteNet(bytes: Uint8Array): Uint8Array {
  const model = decodeModel(bytes);
  model.irVersion = Math.max(Number(model.irVersion), firstVersionWithoutConstantInputs);
  for (const rewrite of rewrites) rewrite(model.graph as Graph);
  return encodeModel(model);
}

/**
 * Replaces a slope a > 1 by one below: PReLU(x; a) = −PReLU(−a·x; 1/a). The sign and the factor go into the
 * convolutions around it; a PReLU that is not only between convolutions keeps its slopes.
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
 * The convolutions that write the PReLU's input and read its output, if nothing else does; their constants
 * are not shared.
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
  // If groups have more than one channel, each sum reads another channel for a weight.
  const plain = readers.every((reader) => {
    const { isDepthwise, inputs, outputs } = convolutionOf(graph, reader, constants);
    return !isDepthwise || (inputs === 1 && outputs === channels);
  });
  return plain ? { writers: [writer], readers } : undefined;
}

/**
 * PReLU spelt out in operators that ONNX Runtime has in its blocked layout (NCHWc). It has no PReLU there, and so
 * would reorder the whole tensor before and after each one. With 1×1 depthwise convolutions, one weight a channel:
 *
 *   PReLU(x) = a·x + (1 − a)·Relu(x) = Conv(x; a) + Relu(Conv(x; 1 − a))      where no a is above 1
 *                                    = Conv(x; a) + Conv(Relu(x); 1 − a)      for any a
 *
 * The first form is a pass shorter: the runtime fuses its Relu into the convolution before it, and in both forms the
 * sum into the convolution that is left.
 */
export function rewritePrelu(graph: Graph): void {
  const constants = constantsOf(graph);
  for (const node of graph.node.filter(({ opType }) => opType === 'PRelu')) {
    const slope = constants.get(node.input![1]!);
    if (!slope) throw new Error(`The slope of PReLU ${node.name} is not a constant`);
    replaceNode(graph, node, spellOut(graph, node, floatsOf(slope)));
  }
}

function spellOut(graph: Graph, node: Node, slope: Float32Array): Node[] {
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
