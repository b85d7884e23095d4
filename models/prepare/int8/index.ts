import onnxProto from 'onnx-proto';
import {
  attributeOf,
  decodeModel,
  encodeModel,
  type Graph,
  type Model,
  makeIntegers,
  type Node,
} from '../graph.ts';
import { flattenSlopes, rewritePrelu } from '../prelu.ts';
import { dropConstantInputs, dropUnused, hoistConstants } from '../rewrite.ts';
import { addBends, equalisable, equalise } from './equalise.ts';
import { decodeFactors, type Int8Plan } from './plan.ts';
import { quantise } from './quantise.ts';

const { onnx } = onnxProto;

/** From this opset on a weight may have one scale a channel. Of what the nets use, only Unsqueeze has changed since 9. */
const opset = 13;
const irVersion = 7;

/** The embedder in whole numbers of eight bits: nearly the same function, faster. Equal bytes in, equal bytes out. */
export function quantiseNet(bytes: Uint8Array, plan: Int8Plan): Uint8Array {
  const model = openForQuantising(bytes);
  const factors = new Map(Object.entries(plan.factors).map(([name, text]) => [name, decodeFactors(text)]));
  const floats = new Set(plan.floats);
  spellOut(model.graph as Graph, factors, floats);
  const rangeOf = (tensor: string) => {
    const range = plan.ranges[tensor];
    if (!range) throw new Error(`The plan has no range of tensor ${tensor}`);
    return range;
  };
  quantiseMost(model.graph as Graph, rangeOf, floats);
  dropUnused(model.graph as Graph);
  return encodeModel(model);
}

/** A copy that the passes below may change, in the opset that they write, and without slopes above 1. */
function openForQuantising(bytes: Uint8Array): Model {
  const model = decodeModel(bytes);
  model.irVersion = irVersion;
  model.opsetImport = [onnx.OperatorSetIdProto.create({ domain: '', version: opset })];
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

/** Still in floats: channels made alike, PReLUs in the form that suits what they will be. */
export function spellOut(
  graph: Graph,
  factors: ReadonlyMap<string, ArrayLike<number>>,
  floats: ReadonlySet<string>,
): void {
  for (const channels of equalisable(graph)) {
    const own = factors.get(channels.name);
    if (own) equalise(graph, channels, own);
  }
  addBends(graph, (x) => !floats.has(x));
  rewritePrelu(graph);
}

/** All convolutions and sums but `floats` and what those PReLUs were spelt out to. */
function quantiseMost(
  graph: Graph,
  rangeOf: (tensor: string) => readonly [number, number],
  floats: ReadonlySet<string>,
): void {
  const kept = withPrelus(graph, floats);
  const wanted = ({ opType }: Node) => opType === 'Conv' || opType === 'Add';
  quantise(graph, rangeOf, (node) => wanted(node) && !kept.has(node.output![0]!));
}

/** `names` and, of each, what the PReLU behind it was rewritten to. */
function withPrelus(graph: Graph, names: ReadonlySet<string>): Set<string> {
  const all = new Set(names);
  for (const { input, output } of graph.node) {
    const [name] = output as [string];
    const part = /\/(inner|bent|straight)$/.test(name) && all.has(input![0]!);
    const sum = input!.some((one) => all.has(one) && one.includes('/'));
    if (part || sum) all.add(name);
  }
  return all;
}
