import { constantsOf, floatsOf, type Graph, makeFloats, makeNode, replaceNode } from '../graph.ts';

/**
 * PReLU(x) = x + Relu((a − 1)·x), where no slope a is above 1: two whole-number operators, since quantising what the 1×1
 * depthwise convolution makes clamps it. Of the PReLUs those whose x `wants` are rewritten.
 */
export function addBends(graph: Graph, wants: (x: string) => boolean): void {
  const constants = constantsOf(graph);
  for (const node of graph.node.filter(({ opType, input }) => opType === 'PRelu' && wants(input![0]!))) {
    const [x, slope] = node.input as [string, string];
    const [y] = node.output as [string];
    const weights = floatsOf(constants.get(slope)!).map((a) => a - 1);
    if (weights.some((weight) => weight > 0)) throw new Error(`PReLU ${y} has a slope above 1`);
    graph.initializer.push(makeFloats(`${y}/weights`, [weights.length, 1, 1, 1], weights));
    replaceNode(graph, node, [
      makeNode('Conv', [x, `${y}/weights`], `${y}/inner`, { group: weights.length, kernel_shape: [1, 1] }),
      makeNode('Relu', [`${y}/inner`], `${y}/bent`),
      makeNode('Add', [x, `${y}/bent`], y),
    ]);
  }
}
