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
import { equalisable, equalise } from './equalise.ts';
import { bytePrelu, domains } from './operators.ts';
import { decodeFactors, type Int8Plan } from './plan.ts';
import { quantise } from './quantise.ts';

const { onnx } = onnxProto;

/** Of what the nets use, only Unsqueeze has changed since 9. */
const opset = 13;
/** From this version on a file may define operators of its own. */
const irVersion = 8;

/** The embedder in whole numbers of eight bits: nearly the same function, faster. Equal bytes in, equal bytes out. */
export function quantiseNet(bytes: Uint8Array, plan: Int8Plan): Uint8Array {
  const model = openForQuantising(bytes);
  const graph = model.graph as Graph;
  makeChannelsAlike(graph, plan);
  const rangeOf = (tensor: string) => {
    const range = plan.ranges[tensor];
    if (!range) throw new Error(`The plan has no range of tensor ${tensor}`);
    return range;
  };
  const floats = new Set(plan.floats);
  quantise(graph, rangeOf, (node) => quantisable.has(node.opType!) && !floats.has(convolutionBehind(node)));
  rewritePrelu(graph);
  dropUnused(graph);
  return encodeModel(model);
}

const quantisable: ReadonlySet<string> = new Set(['Conv', 'Add', 'PRelu']);

/** The tensor by which a plan names a node: a PReLU goes with what it bends. */
function convolutionBehind({ opType, input, output }: Node): string {
  return opType === 'PRelu' ? input![0]! : output![0]!;
}

function makeChannelsAlike(graph: Graph, { factors }: Int8Plan): void {
  for (const channels of equalisable(graph)) {
    const own = factors[channels.name];
    if (own) equalise(graph, channels, decodeFactors(own));
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
