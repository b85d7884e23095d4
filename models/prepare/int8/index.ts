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

/** The models have opset 9. Only one of their operators, Unsqueeze, differs in opset 13. */
const opset = 13;
/** The first version in which a file may define its own operators. */
const irVersion = 8;

/** Quantises the embedder to 8-bit integers. Deterministic: equal inputs have equal outputs. */
export function quantiseNet(bytes: Uint8Array, plan: Int8Plan): Uint8Array {
  const model = openForQuantising(bytes);
  const graph = model.graph as Graph;
  equaliseChannels(graph, plan);
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

/** Returns the tensor that identifies a node in a plan: the input of a PReLU, or the output of any other node. */
function convolutionBehind({ opType, input, output }: Node): string {
  return opType === 'PRelu' ? input![0]! : output![0]!;
}

function equaliseChannels(graph: Graph, plan: Int8Plan): void {
  for (const channels of equalisable(graph)) {
    const text = plan.factors[channels.name];
    if (text === undefined) continue;
    const factors = decodeFactors(text);
    const inverse = factors.map((factor) => 1 / factor);
    scaleChannels(graph, channels, factors, inverse);
  }
}

/** Decodes the model, converts it to `opset`, and removes slopes above 1. */
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
 * Parameters of the quantisation, measured on images once (docs/research/packs.md): the ranges of the tensors, the
 * factors that equalise their channels, and the convolutions that stay floats because they lose the most accuracy.
 */
export interface Int8Plan {
  fitted_on: string;
  /** Convolutions that stay floats, by their output tensor. */
  floats: string[];
  /** Factors by the name of a `Channels`: the code of each channel's factor as a signed byte, in base64. */
  factors: Record<string, string>;
  ranges: Record<string, readonly [low: number, high: number]>;
}

/** Decodes a factor: (1 + c mod 4 / 4) · 2^⌊c / 4⌋. Products with such short fractions are exact on every machine. */
function factorOf(code: number): number {
  return (1 + (code & 3) / 4) * 2 ** (code >> 2);
}

export function decodeFactors(text: string): Float64Array {
  return Float64Array.from(Int8Array.from(Buffer.from(text, 'base64')), factorOf);
}

/**
 * Cross-layer equalisation (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias
 * Correction"). A single scale per tensor is inaccurate if the channels have very different ranges. A convolution is
 * linear, and f·PReLU(x) = PReLU(f·x) for f > 0. So a factor per channel can move from one convolution to the
 * next without a change of the result.
 */

/** The convolutions that write or read a group of tensors with common factors per channel. */
interface Channels {
  /** Name of the first of these tensors. */
  name: string;
  writers: Node[];
  readers: Node[];
}

/** Returns the groups of tensors that only convolutions write and read, so that factors can be moved. */
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

/** Groups tensors that need common factors: input and output of a PReLU, and the terms and result of a sum. */
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
