import { attributeOf, constantsOf, type Graph } from './graph.ts';

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
