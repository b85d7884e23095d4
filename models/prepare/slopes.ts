import { convolutionOf, inputChannel, replaceConstant, scaleConstant } from './convolution.ts';
import { constantsOf, floatsOf, type Graph, type Node, producersOf, readersOf } from './graph.ts';

/**
 * A slope a > 1 as one below: PReLU(x; a) = −PReLU(−a·x; 1/a). The sign and the factor go into the convolutions around; a
 * PReLU that does not lie between convolutions alone keeps its slopes.
 */
export function flattenSlopes(graph: Graph): void {
  for (const node of graph.node.filter(({ opType }) => opType === 'PRelu')) {
    const constants = constantsOf(graph);
    const slopeName = node.input![1]!;
    const slope = constants.get(slopeName) && floatsOf(constants.get(slopeName)!);
    const around = slope?.some((a) => a > 1) && convolutionsAround(graph, node, slope.length);
    if (!slope || !around) continue;
    const { writer, readers } = around;
    const size = convolutionOf(graph, writer, constants).weights.length / slope.length;
    const before = (channel: number) => (slope[channel]! > 1 ? -slope[channel]! : 1);
    scaleConstant(graph, writer, 1, (i) => before(Math.floor(i / size)));
    if (writer.input!.length > 2) scaleConstant(graph, writer, 2, before);
    for (const reader of readers) {
      const channel = inputChannel(graph, reader);
      scaleConstant(graph, reader, 1, (i) => (slope[channel(i)]! > 1 ? -1 : 1));
    }
    replaceConstant(graph, slopeName, (values) => values.map((a) => (a > 1 ? 1 / a : a)));
  }
}

/** Those that write what the PReLU reads and read what it writes, when nothing else does; their constants are their own. */
function convolutionsAround(graph: Graph, prelu: Node, channels: number) {
  const [x, slope] = prelu.input as [string, string];
  const [y] = prelu.output as [string];
  const writer = producersOf(graph).get(x);
  const readers = graph.node.filter(({ input }) => input!.includes(y));
  const convolutions = [...(writer ? [writer] : []), ...readers];
  const reads = readersOf(graph);
  const constants = constantsOf(graph);
  const own = [slope, ...convolutions.flatMap(({ input }) => input!.slice(1))];
  const alone =
    writer !== undefined &&
    convolutions.every(({ opType }) => opType === 'Conv') &&
    reads.get(x) === 1 &&
    reads.get(y) === readers.length &&
    own.every((name) => constants.has(name) && reads.get(name) === 1);
  if (!alone || convolutionOf(graph, writer, constants).outputs !== channels) return undefined;
  // In groups of more than one channel, which channel a weight reads is another sum.
  const plain = readers.every((reader) => {
    const { kind, inputs, outputs } = convolutionOf(graph, reader, constants);
    return kind === 'depthwise' ? inputs === 1 && outputs === channels : true;
  });
  return plain ? { writer, readers } : undefined;
}
