import { constantsOf, type Graph, makeIntegers, producersOf, wholesOf } from './graph.ts';

/**
 * Reshape(x, [Shape(x)[0], …]) as Reshape(x, [0, …]): zero means "as it was" (ONNX, Reshape). Exporters spell out what
 * keeps the batch in four small nodes, which a runtime can only fold away where every side is known.
 */
export function keepBatchInReshapes(graph: Graph): void {
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
