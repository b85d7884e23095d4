import { convolutionOf, type Graph, inputChannel, type Node, scaleConstant } from '../graph.ts';

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
