import onnxProto from 'onnx-proto';

const { onnx } = onnxProto;
const { FLOAT, INT64 } = onnx.TensorProto.DataType;
const { INT, INTS } = onnx.AttributeProto.AttributeType;

export type Model = InstanceType<typeof onnx.ModelProto>;
export type Graph = InstanceType<typeof onnx.GraphProto>;
export type Node = Graph['node'][number];
export type Constant = Graph['initializer'][number];
/** An operator that the file defines as a graph of other operators. */
export type LocalFunction = Model['functions'][number];
type Attribute = NonNullable<Node['attribute']>[number];

/** A pass that changes a model's graph but not its results. It leaves models unchanged if it does not apply. */
export type Rewrite = (graph: Graph) => void;

export function decodeModel(bytes: Uint8Array): Model {
  const model = onnx.ModelProto.decode(bytes);
  if (!model.graph) throw new Error('The ONNX file has no graph');
  return model;
}

/** Deterministic: fields are written in the order of their numbers, so equal models have equal bytes. */
export function encodeModel(model: Model): Uint8Array {
  return onnx.ModelProto.encode(model).finish();
}

export function constantsOf(graph: Graph): Map<string, Constant> {
  return new Map(graph.initializer.map((constant) => [constant.name!, constant]));
}

/** Returns the node that computes each tensor. */
export function producersOf(graph: Graph): Map<string, Node> {
  return new Map(graph.node.flatMap((node) => node.output!.map((output) => [output, node])));
}

/** Counts how often each tensor is read, by nodes or as an output. Ignores Shape, which does not read values. */
export function readersOf(graph: Graph): Map<string, number> {
  const counts = new Map<string, number>();
  const nodes = graph.node.filter(({ opType }) => opType !== 'Shape');
  const reads = [...nodes.flatMap((node) => node.input!), ...graph.output.map((output) => output.name!)];
  for (const tensor of reads) counts.set(tensor, (counts.get(tensor) ?? 0) + 1);
  return counts;
}

/** Returns the float values of a constant, from rawData or from floatData. */
export function floatsOf(constant: Constant): Float32Array {
  if (constant.dataType !== FLOAT) {
    throw new Error(`Expected floats in constant ${constant.name} but found data type ${constant.dataType}`);
  }
  if (!constant.rawData?.length) return Float32Array.from(constant.floatData ?? []);
  // Copies the bytes, because their offset in the file may not be a multiple of 4. Buffer.slice() does not copy.
  return new Float32Array(Uint8Array.from(constant.rawData).buffer);
}

export function dimsOf(constant: Constant): number[] {
  return constant.dims!.map(Number);
}

export function makeFloats(name: string, dims: number[], values: Float32Array): Constant {
  const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return onnx.TensorProto.create({ name, dims, dataType: FLOAT, rawData });
}

/** Returns the values of an INT64 constant; undefined for another type or no constant. */
export function wholesOf(constant: Constant | undefined): number[] | undefined {
  if (constant?.dataType !== INT64) return undefined;
  if (!constant.rawData?.length) return (constant.int64Data ?? []).map(Number);
  return Array.from(new BigInt64Array(Uint8Array.from(constant.rawData).buffer), Number);
}

export function makeIntegers(name: string, values: number[]): Constant {
  const rawData = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  return onnx.TensorProto.create({ name, dims: [values.length], dataType: INT64, rawData });
}

/** Returns a node with one output. The node has the name of its output. */
export function makeNode(
  opType: string,
  input: string[],
  output: string,
  integers: Record<string, number | number[]> = {},
  domain?: string,
): Node {
  const attribute = Object.entries(integers).map(([name, value]) =>
    onnx.AttributeProto.create(
      typeof value === 'number' ? { name, type: INT, i: value } : { name, type: INTS, ints: value },
    ),
  );
  const node = onnx.NodeProto.create({ opType, name: output, input, output: [output], attribute });
  if (domain) node.domain = domain;
  return node;
}

export function attributeOf(node: Node, name: string): Attribute | undefined {
  return node.attribute?.find((attribute) => attribute.name === name);
}

export function replaceNode(graph: Graph, node: Node, nodes: Node[]): void {
  graph.node.splice(graph.node.indexOf(node), 1, ...nodes);
}

export function renameTensor(graph: Graph, from: string, to: string): void {
  const renamed = (names: string[]) => names.map((name) => (name === from ? to : name));
  for (const node of graph.node) {
    node.input = renamed(node.input!);
    node.output = renamed(node.output!);
  }
}

/** A convolution. The weights are out × in/group × height × width. The bias is 0 if the node has none. */
export interface Convolution {
  weights: Float32Array;
  bias: Float32Array;
  dims: number[];
  outputs: number;
  /** Number of input channels of one group. */
  inputs: number;
  isDepthwise: boolean;
}

export function convolutionOf(
  graph: Graph,
  node: Node,
  constants: Map<string, Constant> = constantsOf(graph),
): Convolution {
  const [, weightName, biasName] = node.input!;
  const weight = constants.get(weightName!);
  if (!weight) throw new Error(`The weights of convolution ${node.output![0]} are not a constant`);
  const dims = dimsOf(weight);
  const [outputs, inputs] = dims as [number, number];
  return {
    weights: floatsOf(weight),
    bias: biasName ? floatsOf(constants.get(biasName)!) : new Float32Array(outputs),
    dims,
    outputs,
    inputs,
    isDepthwise: Number(attributeOf(node, 'group')?.i ?? 1) > 1,
  };
}

/** Multiplies each output channel of `writers` by `written`, and each input channel of `readers` by `read`. */
export function scaleChannels(
  graph: Graph,
  { writers, readers }: { writers: readonly Node[]; readers: readonly Node[] },
  written: ArrayLike<number>,
  read: ArrayLike<number>,
): void {
  for (const node of writers) {
    const { weights, outputs } = convolutionOf(graph, node);
    const size = weights.length / outputs;
    scaleConstant(graph, node, 1, (i) => written[Math.floor(i / size)]!);
    if (node.input!.length > 2) scaleConstant(graph, node, 2, (i) => written[i]!);
  }
  for (const node of readers) {
    const { dims, inputs, isDepthwise } = convolutionOf(graph, node);
    const area = dims[2]! * dims[3]!;
    scaleConstant(graph, node, 1, (i) => {
      const channel = Math.floor(i / area);
      return read[isDepthwise ? channel : channel % inputs]!;
    });
  }
}

/** Multiplies the values of a constant input. No other node may read the constant. */
function scaleConstant(
  graph: Graph,
  node: Node,
  position: number,
  factorOf: (place: number) => number,
): void {
  replaceConstant(graph, node.input![position]!, (values) => values.map((value, i) => value * factorOf(i)));
}

export function replaceConstant(
  graph: Graph,
  name: string,
  change: (values: Float32Array) => Float32Array,
): void {
  const at = graph.initializer.findIndex((constant) => constant.name === name);
  const constant: Constant = graph.initializer[at]!;
  graph.initializer[at] = makeFloats(name, dimsOf(constant), change(floatsOf(constant)));
}
