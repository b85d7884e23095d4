import onnxProto from 'onnx-proto';
import { attributeOf, constantsOf, dimsOf, floatsOf, type Graph, makeFloats } from './graph.ts';

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
export function zeroTinyWeights(graph: Graph): void {
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
