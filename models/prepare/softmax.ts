import {
  attributeOf,
  constantsOf,
  dimsOf,
  floatsOf,
  type Graph,
  makeFloats,
  makeNode,
  type Node,
  producersOf,
  readersOf,
  replaceNode,
} from './graph.ts';

/**
 * Softmax over two classes as a sigmoid of their difference, softmax(a, b) = (σ(a − b), σ(b − a)), where the
 * convolutions in front take the difference: they are linear, so it costs nothing. ONNX Runtime's softmax starts
 * anew for each of a detector's thousands of rows of two.
 */
export function rewritePairSoftmax(graph: Graph): void {
  for (const softmax of graph.node.filter(({ opType }) => opType === 'Softmax')) {
    const heads = findHeads(graph, softmax);
    if (!heads) continue;
    for (const head of heads) takeDifferences(graph, head);
    replaceNode(graph, softmax, [makeNode('Sigmoid', [softmax.input![0]!], softmax.output![0]!)]);
  }
}

/** The convolutions whose channels, in pairs, are the two classes; none when the net is not built like that. */
function findHeads(graph: Graph, softmax: Node): Node[] | undefined {
  const output = graph.output.find(({ name }) => name === softmax.output![0]);
  const shape = output?.type?.tensorType?.shape?.dim?.map((dim) => Number(dim.dimValue));
  if (shape?.length !== 3 || shape[2] !== 2 || Number(attributeOf(softmax, 'axis')?.i) !== 2)
    return undefined;

  const producers = producersOf(graph);
  const readers = readersOf(graph);
  const before = (node: Node | undefined, opType: string): Node | undefined => {
    const tensor = node?.input?.[0];
    const producer = tensor === undefined || readers.get(tensor) !== 1 ? undefined : producers.get(tensor);
    return producer?.opType === opType ? producer : undefined;
  };
  const heads = before(softmax, 'Concat')?.input?.map((part) => {
    const reshape = readers.get(part) === 1 ? producers.get(part) : undefined;
    const transpose = before(reshape?.opType === 'Reshape' ? reshape : undefined, 'Transpose');
    const channelsLast = transpose && String(attributeOf(transpose, 'perm')?.ints) === '0,2,3,1';
    return channelsLast ? before(transpose, 'Conv') : undefined;
  });
  return heads?.every((head) => head !== undefined) ? heads : undefined;
}

function takeDifferences(graph: Graph, head: Node): void {
  const constants = constantsOf(graph);
  head.input = head.input!.map((name, position) => {
    const constant = constants.get(name);
    if (position === 0 || !constant) return name;
    const values = floatsOf(constant);
    const channel = values.length / dimsOf(constant)[0]!;
    const differences = values.map((value, i) => {
      const isFirst = Math.floor(i / channel) % 2 === 0;
      return value - values[isFirst ? i + channel : i - channel]!;
    });
    graph.initializer.push(makeFloats(`${name}/difference`, dimsOf(constant), differences));
    return `${name}/difference`;
  });
}
