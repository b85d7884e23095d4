import { constantsOf, floatsOf, type Graph, makeFloats, makeNode, type Node, replaceNode } from './graph.ts';

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
