import {
  constantsOf,
  convolutionOf,
  floatsOf,
  type Graph,
  inputChannel,
  makeFloats,
  makeNode,
  type Node,
  producersOf,
  readersOf,
  replaceConstant,
  replaceNode,
  scaleConstant,
} from './graph.ts';

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
