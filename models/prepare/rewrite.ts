import onnxProto from 'onnx-proto';
import { cutBoxDecoding, rewritePairSoftmax } from './boxes.ts';
import {
  attributeOf,
  constantsOf,
  decodeModel,
  dimsOf,
  encodeModel,
  floatsOf,
  type Graph,
  makeFloats,
  makeIntegers,
  producersOf,
  type Rewrite,
  wholesOf,
} from './graph.ts';
import { flattenSlopes, rewritePrelu } from './prelu.ts';

const { FLOAT } = onnxProto.onnx.TensorProto.DataType;

/** Constants that stand as nodes become initializers, the one form that the other passes look for. */
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

/** Below this a weight changes no sum of a float net: activations are nowhere near as large as its inverse. */
const tiniest = 1e-20;

/**
 * Weights that training has let decay to next to nothing become 0. Many are denormal, or make denormal products, and on some
 * processors each of those takes a hundred times as long as another number.
 */
function zeroTinyWeights(graph: Graph): void {
  graph.initializer = graph.initializer.map((constant) => {
    const values = constant.dataType === FLOAT ? floatsOf(constant) : undefined;
    if (!values?.some((value) => value !== 0 && Math.abs(value) < tiniest)) return constant;
    const zeroed = values.map((value) => (Math.abs(value) < tiniest ? 0 : value));
    return makeFloats(constant.name!, dimsOf(constant), zeroed);
  });
}

/** What no output depends on. Nodes stand in topological order (ONNX IR, Graphs), so one walk from the end does. */
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
 * Reshape(x, [Shape(x)[0], …]) as Reshape(x, [0, …]): zero means "as it was" (ONNX, Reshape). Exporters spell out what
 * keeps the batch in four small nodes, which a runtime can only fold away where every side is known.
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

/** Every rewrite, in order. models/README.md has what each one gains. */
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

/** The same function as `bytes`, faster. Deterministic: equal bytes in, equal bytes out. */
export function rewriteNet(bytes: Uint8Array): Uint8Array {
  const model = decodeModel(bytes);
  model.irVersion = Math.max(Number(model.irVersion), firstVersionWithoutConstantInputs);
  for (const rewrite of rewrites) rewrite(model.graph as Graph);
  return encodeModel(model);
}
