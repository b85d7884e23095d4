import {
  type Constant,
  constantsOf,
  dimsOf,
  floatsOf,
  type Graph,
  makeFloats,
  type Node,
  producersOf,
} from '../graph.ts';
import { convolutionOf } from './convolution.ts';

/**
 * Cross-layer equalisation (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias Correction"):
 * one scale a tensor suits its channels badly where they differ in size. A convolution is linear and f·PReLU(x) =
 * PReLU(f·x) for f > 0, so a factor a channel moves from a convolution into those that read it, and the net stays the same.
 */

/** Tensors whose channels share their factors, the convolutions that write one of them and those that read one. */
export interface Channels {
  /** The tensor that the others are named after. */
  name: string;
  tensors: ReadonlySet<string>;
  writers: Node[];
  readers: Node[];
}

/** Where factors can be moved: between convolutions and what lies between them. */
export function equalisable(graph: Graph): Channels[] {
  const found: Channels[] = [];
  for (const tensors of groupsOf(graph)) {
    const reads = (node: Node) => tensors.has(node.input![0]!) && !tensors.has(node.output![0]!);
    const writers = graph.node.filter((node) => node.opType === 'Conv' && tensors.has(node.output![0]!));
    const readers = graph.node.filter(reads);
    if (readers.length === 0 || readers.some(({ opType }) => opType !== 'Conv')) continue;
    found.push({ name: [...tensors][0]!, tensors, writers, readers });
  }
  return found;
}

/** An activation's two sides keep one factor, and so does all that meets in a sum. */
function groupsOf(graph: Graph): Set<Set<string>> {
  const groupOf = new Map<string, Set<string>>();
  const join = (names: string[]) => {
    const joined = new Set(names.flatMap((name) => [...(groupOf.get(name) ?? [name])]));
    for (const name of joined) groupOf.set(name, joined);
  };
  for (const node of graph.node) {
    const [input, output] = [node.input!, node.output!];
    if (node.opType === 'PRelu') join([input[0]!, output[0]!]);
    else if (node.opType === 'Add') join([...input, ...output]);
    else join([output[0]!]);
  }
  return new Set(groupOf.values());
}

/** Multiplies channel after channel of the tensors by its factor. The net's outputs stay. */
export function equalise(graph: Graph, { writers, readers }: Channels, factors: ArrayLike<number>): void {
  for (const node of writers) {
    const { weights, outputs } = convolutionOf(graph, node);
    const size = weights.length / outputs;
    if (outputs !== factors.length) throw new Error(`Expected ${outputs} factors of ${node.output![0]}`);
    scaleConstant(graph, node, 1, (i) => factors[Math.floor(i / size)]!);
    if (node.input!.length > 2) scaleConstant(graph, node, 2, (i) => factors[i]!);
  }
  for (const node of readers) {
    const channel = inputChannel(graph, node);
    scaleConstant(graph, node, 1, (i) => 1 / factors[channel(i)]!);
  }
}

/**
 * A slope a > 1 as one below: PReLU(x; a) = −PReLU(−a·x; 1/a). The sign and the factor go into the convolutions around.
 */
export function flattenSlopes(graph: Graph): void {
  const producers = producersOf(graph);
  for (const node of graph.node.filter(({ opType }) => opType === 'PRelu')) {
    const [x, slopeName] = node.input as [string, string];
    const slope = floatsOf(constantsOf(graph).get(slopeName)!);
    if (slope.every((a) => a <= 1)) continue;
    const readers = graph.node.filter(({ input }) => input!.includes(node.output![0]!));
    if (readers.some(({ opType }) => opType !== 'Conv'))
      throw new Error(`A sum reads PReLU ${node.output![0]}`);
    const writer = producers.get(x)!;
    const { weights, outputs } = convolutionOf(graph, writer);
    const size = weights.length / outputs;
    const before = (channel: number) => (slope[channel]! > 1 ? -slope[channel]! : 1);
    scaleConstant(graph, writer, 1, (i) => before(Math.floor(i / size)));
    scaleConstant(graph, writer, 2, before);
    for (const reader of readers) {
      const channel = inputChannel(graph, reader);
      scaleConstant(graph, reader, 1, (i) => (slope[channel(i)]! > 1 ? -1 : 1));
    }
    replaceConstant(graph, slopeName, (values) => values.map((a) => (a > 1 ? 1 / a : a)));
  }
}

/** Which input channel a weight of the convolution belongs to, by the weight's place. */
function inputChannel(graph: Graph, node: Node): (place: number) => number {
  const { dims, kind } = convolutionOf(graph, node);
  const [, inputs, height, width] = dims as [number, number, number, number];
  const area = height * width;
  return (place) => (kind === 'depthwise' ? Math.floor(place / area) : Math.floor(place / area) % inputs);
}

/** Multiplies the values of a node's constant, which nobody else reads. */
function scaleConstant(
  graph: Graph,
  node: Node,
  position: number,
  factorOf: (place: number) => number,
): void {
  replaceConstant(graph, node.input![position]!, (values) => values.map((value, i) => value * factorOf(i)));
}

function replaceConstant(graph: Graph, name: string, change: (values: Float32Array) => Float32Array): void {
  const at = graph.initializer.findIndex((constant) => constant.name === name);
  const constant: Constant = graph.initializer[at]!;
  graph.initializer[at] = makeFloats(name, dimsOf(constant), change(floatsOf(constant)));
}
