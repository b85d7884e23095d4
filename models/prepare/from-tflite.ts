import onnxProto from 'onnx-proto';
import { encodeModel, type Graph, makeFloats, makeIntegers, makeNode } from './graph.ts';
import { type Operator, type OperatorKind, readTflite, type Tensor } from './tflite.ts';

const { onnx } = onnxProto;

/**
 * Converts a TensorFlow Lite model to ONNX. TensorFlow Lite stores channels last, and ONNX stores them before height
 * and width, so the shapes of four-dimensional tensors and the weights are permuted. This takes no time at run time,
 * except for Reshape: its result depends on the order, so a Transpose before it restores the order.
 */
export function onnxOf(bytes: Uint8Array): Uint8Array {
  const net = readTflite(bytes);
  const graph = onnx.GraphProto.create({ name: 'net' }) as Graph;
  graph.input = net.inputs.map(valueInfo);
  graph.output = net.outputs.map(valueInfo);
  for (const operator of net.operators) translations[operator.kind](graph, operator);
  const model = onnx.ModelProto.create({ irVersion: 7, opsetImport: [{ domain: '', version: 13 }], graph });
  return encodeModel(model);
}

function valueInfo({ name, shape }: Tensor) {
  const dim = channelsFirst(shape).map((dimValue) => ({ dimValue }));
  return onnx.ValueInfoProto.create({
    name,
    type: { tensorType: { elemType: onnx.TensorProto.DataType.FLOAT, shape: { dim } } },
  });
}

/** Permutes (batch, height, width, channels) to (batch, channels, height, width). Keeps other shapes. */
function channelsFirst<T>(dims: readonly T[]): T[] {
  if (dims.length !== 4) return [...dims];
  const [batch, height, width, channels] = dims as [T, T, T, T];
  return [batch, channels, height, width];
}

const translations: Record<OperatorKind, (graph: Graph, operator: Operator) => void> = {
  // The weights have half precision; readTflite has converted them to floats.
  DEQUANTIZE(_, { inputs, output }) {
    output.values = constantOf(inputs[0]!);
  },

  // TensorFlow Lite's weights are out × height × width × in.
  CONV_2D(graph, operator) {
    convolve(graph, operator, [0, 3, 1, 2], 1);
  },

  // TensorFlow Lite's weights are 1 × height × width × channels.
  DEPTHWISE_CONV_2D(graph, operator) {
    convolve(graph, operator, [3, 0, 1, 2], operator.inputs[1]!.shape[3]!);
  },

  MAX_POOL_2D(graph, operator) {
    const { width = 0, height = 0 } = operator.options;
    const attributes = { kernel_shape: [height, width], ...strideAndPads(operator, height, width) };
    addNode(graph, operator, 'MaxPool', [operator.inputs[0]!.name], attributes);
  },

  ADD(graph, operator) {
    addNode(graph, operator, 'Add', namesOf(operator));
  },

  RELU(graph, operator) {
    addNode(graph, operator, 'Relu', [operator.inputs[0]!.name]);
  },

  PAD(graph, operator) {
    const [input, paddings] = operator.inputs;
    const pairs = constantOf(paddings!);
    const side = (which: number) => channelsFirst(input!.shape.map((_, axis) => pairs[2 * axis + which]!));
    const name = paddings!.name;
    graph.initializer.push(makeIntegers(name, [...side(0), ...side(1)]));
    addNode(graph, operator, 'Pad', [input!.name, name]);
  },

  CONCATENATION(graph, operator) {
    const { axis = 0 } = operator.options;
    const place = channelsFirst(operator.output.shape.map((_, i) => i)).indexOf(axis);
    addNode(graph, operator, 'Concat', namesOf(operator), { axis: place });
  },

  RESHAPE(graph, operator) {
    const [input] = operator.inputs;
    const { name, shape } = operator.output;
    let source = input!.name;
    if (input!.shape.length === 4) {
      source = `${name}/channels_last`;
      graph.node.push(makeNode('Transpose', [input!.name], source, { perm: [0, 2, 3, 1] }));
    }
    graph.initializer.push(makeIntegers(`${name}/shape`, shape));
    addNode(graph, operator, 'Reshape', [source, `${name}/shape`]);
  },
};

const namesOf = ({ inputs }: Operator) => inputs.map(({ name }) => name);

/** `order` lists the dimensions of the file's weights in ONNX's order: out, in/group, height, width. */
function convolve(graph: Graph, operator: Operator, order: readonly number[], group: number): void {
  const [input, weights, bias] = operator.inputs as [Tensor, Tensor, Tensor];
  const values = constantOf(weights);
  const dims = order.map((side) => weights.shape[side]!);
  const steps = order.map((side) => weights.shape.slice(side + 1).reduce((step, length) => step * length, 1));
  const ordered = Float32Array.from(values, (_, i) => {
    let [place, rest] = [0, i];
    for (let side = 3; side >= 0; side--) {
      place += (rest % dims[side]!) * steps[side]!;
      rest = Math.floor(rest / dims[side]!);
    }
    return values[place]!;
  });
  graph.initializer.push(
    makeFloats(weights.name, dims, ordered),
    makeFloats(bias.name, bias.shape, Float32Array.from(constantOf(bias))),
  );
  const [, , height, width] = dims as [number, number, number, number];
  const attributes = { group, kernel_shape: [height, width], ...strideAndPads(operator, height, width) };
  addNode(graph, operator, 'Conv', [input.name, weights.name, bias.name], attributes);
}

/**
 * Padding SAME (0) adds pixels so that the output has ⌈side / stride⌉ cells. An odd pixel is added at the bottom or
 * right (TensorFlow Lite, kernels/padding.h). VALID (1) adds none.
 */
function strideAndPads({ inputs, options }: Operator, height: number, width: number) {
  const [, rows, columns] = inputs[0]!.shape as [number, number, number, number];
  const { stride_h = 0, stride_w = 0, padding = 0 } = options;
  const pads = (side: number, kernel: number, stride: number): [number, number] => {
    const covered = (Math.ceil(side / stride) - 1) * stride + kernel;
    const missing = padding === 0 ? Math.max(0, covered - side) : 0;
    return [Math.floor(missing / 2), Math.ceil(missing / 2)];
  };
  const [top, bottom] = pads(rows, height, stride_h);
  const [left, right] = pads(columns, width, stride_w);
  return { strides: [stride_h, stride_w], pads: [top, left, bottom, right] };
}

/** Adds a node for the operator, and a Relu node if its activation is RELU (1) instead of NONE (0). */
function addNode(
  graph: Graph,
  { output, options: { activation = 0 } }: Operator,
  opType: string,
  inputs: string[],
  attributes: Record<string, number | number[]> = {},
): void {
  const before = activation === 0 ? output.name : `${output.name}/linear`;
  graph.node.push(makeNode(opType, inputs, before, attributes));
  if (activation === 1) graph.node.push(makeNode('Relu', [before], output.name));
}

const constantOf = ({ values }: Tensor): Float32Array | Int32Array => values!;
