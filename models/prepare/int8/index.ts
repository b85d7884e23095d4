import onnxProto from 'onnx-proto';
import {
  attributeOf,
  decodeModel,
  encodeModel,
  type Graph,
  type Model,
  makeIntegers,
  type Node,
  scaleChannels,
} from '../graph.ts';
import { dropConstantInputs, dropUnused, flattenSlopes, hoistConstants, rewritePrelu } from '../rewrite.ts';
import { bytePrelu, domains, quantise } from './quantise.ts';

const { onnx } = onnxProto;

/** Among the operators that the models use, only Unsqueeze has changed since 9. */
const opset = 13;
/** From this version on a file may define operators of its own. */
const irVersion = 8;

/**
 * Quantises the embedder to 8-bit integers: nearly the same function, faster. Equal bytes in, equal bytes
 * out.
 */
export function quantiseNet(bytes: Uint8Array, plan: Int8Plan): Uint8Array {
  const model = openForQuantising(bytes);
  const graph = model.graph as Graph;
  makeChannelsAlike(graph, plan);
  const floats = new Set(plan.floats);
  quantise(
    graph,
    (tensor) => plan.ranges[tensor]!,
    (node) => quantisable.has(node.opType!) && !floats.has(convolutionBehind(node)),
  );
  rewritePrelu(graph);
  dropUnused(graph);
  return encodeModel(model);
}

const quantisable: ReadonlySet<string> = new Set(['Conv', 'Add', 'PRelu']);

/** The tensor by which a plan names a node: a PReLU belongs to its input. */
function convolutionBehind({ opType, input, output }: Node): string {
  return opType === 'PRelu' ? input![0]! : output![0]!;
}

function makeChannelsAlike(graph: Graph, plan: Int8Plan): void {
  for (const channels of equalisable(graph)) {
    const text = plan.factors[channels.name];
    if (text === undefined) continue;
    const factors = decodeFactors(text);
    const inverse = factors.map((factor) => 1 / factor);
    scaleChannels(graph, channels, factors, inverse);
  }
}

/** A copy that the passes below may change, in the opset that they write, and without slopes above 1. */
function openForQuantising(bytes: Uint8Array): Model {
  const model = decodeModel(bytes);
  model.irVersion = irVersion;
  model.opsetImport = [
    onnx.OperatorSetIdProto.create({ domain: '', version: opset }),
    ...Object.values(domains).map((domain) => onnx.OperatorSetIdProto.create({ domain, version: 1 })),
  ];
  model.functions = [bytePrelu(opset)];
  const graph = model.graph as Graph;
  hoistConstants(graph);
  dropConstantInputs(graph);
  for (const node of graph.node.filter(({ opType }) => opType === 'Unsqueeze')) {
    const axes = attributeOf(node, 'axes')?.ints;
    if (!axes) continue;
    const name = `${node.output![0]}/axes`;
    graph.initializer.push(makeIntegers(name, axes.map(Number)));
    node.input!.push(name);
    node.attribute = [];
  }
  flattenSlopes(graph);
  return model;
}

/**
 * Data that a float model does not contain, measured on images once (models/README.md): the ranges of its
 * tensors, the factors that make their channels alike, and the convolutions that suffer most and stay floats.
 */
export interface Int8Plan {
  fitted_on: string;
  /** Convolutions by their output tensor. */
  floats: string[];
  /** Each Channels (see equalisable) has a code a channel under its name: signed bytes in base64. */
  factors: Record<string, string>;
  ranges: Record<string, readonly [low: number, high: number]>;
}

/** Four steps an octave, whose sums and products are the same on every machine: (1 + c mod 4 / 4) · 2^⌊c / 4⌋. */
function factorOf(code: number): number {
  return (1 + (code & 3) / 4) * 2 ** (code >> 2);
}

export function decodeFactors(text: string): Float64Array {
  return Float64Array.from(Int8Array.from(Buffer.from(text, 'base64')), factorOf);
}

/**
 * Cross-layer equalisation (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias
 * Correction"): one scale per tensor suits its channels badly if they differ in size. A convolution is linear
 * and f·PReLU(x) = PReLU(f·x) for f > 0, so a factor per channel moves from a convolution into those that
 * read it, and the model stays the same.
 */

/** The convolutions that write tensors whose channels share their factors, and those that read one. */
interface Channels {
  /** The tensor that the others are named after. */
  name: string;
  writers: Node[];
  readers: Node[];
}

/** Places between which factors can be moved: convolutions and the nodes between them. */
function equalisable(graph: Graph): Channels[] {
  const found: Channels[] = [];
  for (const tensors of groupsOf(graph)) {
    const reads = (node: Node) => tensors.has(node.input![0]!) && !tensors.has(node.output![0]!);
    const writers = graph.node.filter((node) => node.opType === 'Conv' && tensors.has(node.output![0]!));
    const readers = graph.node.filter(reads);
    if (readers.length === 0 || readers.some(({ opType }) => opType !== 'Conv')) continue;
    found.push({ name: [...tensors][0]!, writers, readers });
  }
  return found;
}

/** An activation's two sides keep one factor, and so do all inputs of a sum. */
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
