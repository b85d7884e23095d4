import onnxProto from 'onnx-proto';
import { encodeModel, type Graph, makeFloats, makeIntegers, makeNode } from './graph.ts';
import { type Operator, type OperatorKind, readTflite, type Tensor } from './tflite.ts';

const { onnx } = onnxProto;

/**
 * The same net for ONNX Runtime. TensorFlow Lite keeps channels last, ONNX puts them before height and width: every activation
 * of four dimensions is turned, and so are the weights, which costs nothing when the net runs. Only a reshape depends on the
 * order, so each has a transpose in front.
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
  const dim = turned(shape).map((dimValue) => ({ dimValue }));
  return onnx.ValueInfoProto.create({
    name,
    type: { tensorType: { elemType: onnx.TensorProto.DataType.FLOAT, shape: { dim } } },
  });
}

/** Batch, height, width, channels → batch, channels, height, width. */
function turned<T>(dims: readonly T[]): T[] {
  if (dims.length !== 4) return [...dims];
  const [batch, height, width, channels] = dims as [T, T, T, T];
  return [batch, channels, height, width];
}

const translations: Record<OperatorKind, (graph: Graph, operator: Operator) => void> = {
  // Of half-precision weights, which reading has widened.
  DEQUANTIZE(_, { inputs, output }) {
    output.values = constantOf(inputs[0]!);
  },

  CONV_2D(graph, operator) {
    const [, weights] = operator.inputs;
    const [outputs, height, width, channels] = weights!.shape as [number, number, number, number];
    const area = height * width;
    convolve(graph, operator, {
      dims: [outputs, channels, height, width],
      group: 1,
      // out × (height × width) × in
      place: (output, channel, cell) => (output * area + cell) * channels + channel,
    });
  },

  DEPTHWISE_CONV_2D(graph, operator) {
    const [, weights] = operator.inputs;
    const [, height, width, channels] = weights!.shape as [number, number, number, number];
    if (operator.options.multiplier !== 1) throw new Error(`${operator.output.name} multiplies its channels`);
    convolve(graph, operator, {
      dims: [channels, 1, height, width],
      group: channels,
      // 1 × (height × width) × channels
      place: (output, _, cell) => cell * channels + output,
    });
  },

  MAX_POOL_2D(graph, operator) {
    const { width = 0, height = 0 } = operator.options;
    const attributes = { kernel_shape: [height, width], ...strideAndPads(operator, height, width) };
    addNode(graph, operator, 'MaxPool', [operator.inputs[0]!.name], attributes);
  },

  ADD(graph, operator) {
    addNode(
      graph,
      operator,
      'Add',
      operator.inputs.map(({ name }) => name),
    );
  },

  RELU(graph, operator) {
    addNode(graph, operator, 'Relu', [operator.inputs[0]!.name]);
  },

  PAD(graph, operator) {
    const [input, paddings] = operator.inputs;
    const pairs = constantOf(paddings!);
    const side = (which: number) => turned(input!.shape.map((_, axis) => pairs[2 * axis + which]!));
    const name = paddings!.name;
    graph.initializer.push(makeIntegers(name, [...side(0), ...side(1)]));
    addNode(graph, operator, 'Pad', [input!.name, name]);
  },

  CONCATENATION(graph, operator) {
    const { axis = 0 } = operator.options;
    const place = turned(operator.output.shape.map((_, i) => i)).indexOf(axis);
    addNode(
      graph,
      operator,
      'Concat',
      operator.inputs.map(({ name }) => name),
      { axis: place },
    );
  },

  RESHAPE(graph, operator) {
    const [input] = operator.inputs;
    const { name, shape } = operator.output;
    if (shape.length === 4) throw new Error(`${name} is reshaped to four dimensions`);
    let source = input!.name;
    if (input!.shape.length === 4) {
      source = `${name}/channels_last`;
      graph.node.push(makeNode('Transpose', [input!.name], source, { perm: [0, 2, 3, 1] }));
    }
    graph.initializer.push(makeIntegers(`${name}/shape`, shape));
    addNode(graph, operator, 'Reshape', [source, `${name}/shape`]);
  },
};

/** `place` is where the file has a weight: of an output, of an input channel of its group, of a cell of the kernel. */
function convolve(
  graph: Graph,
  operator: Operator,
  {
    dims,
    group,
    place,
  }: { dims: number[]; group: number; place(output: number, channel: number, cell: number): number },
): void {
  const [input, weights, bias] = operator.inputs as [Tensor, Tensor, Tensor];
  const [, channels, height, width] = dims as [number, number, number, number];
  const { dilation_w = 1, dilation_h = 1 } = operator.options;
  if (dilation_w !== 1 || dilation_h !== 1) throw new Error(`${operator.output.name} is dilated`);
  const values = constantOf(weights);
  const area = height * width;
  const ordered = Float32Array.from(values, (_, i) => {
    const [output, channel] = [Math.floor(i / (channels * area)), Math.floor(i / area) % channels];
    return values[place(output, channel, i % area)]!;
  });
  graph.initializer.push(
    makeFloats(weights.name, dims, ordered),
    makeFloats(bias.name, bias.shape, Float32Array.from(constantOf(bias))),
  );
  const attributes = { group, kernel_shape: [height, width], ...strideAndPads(operator, height, width) };
  addNode(graph, operator, 'Conv', [input.name, weights.name, bias.name], attributes);
}

/**
 * Padding SAME (0) gives ⌈side / stride⌉ cells. What that takes is shared by both ends, and an odd pixel goes to the far one
 * (TensorFlow Lite, kernels/padding.h); VALID (1) pads nothing.
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

/** A node for the operator, and one for its activation function if it has one: NONE (0) or RELU (1). */
function addNode(
  graph: Graph,
  { kind, output, options: { activation = 0 } }: Operator,
  opType: string,
  inputs: string[],
  attributes: Record<string, number | number[]> = {},
): void {
  if (activation > 1) throw new Error(`${output.name} (${kind}) has activation function ${activation}`);
  const before = activation === 0 ? output.name : `${output.name}/linear`;
  graph.node.push(makeNode(opType, inputs, before, attributes));
  if (activation === 1) graph.node.push(makeNode('Relu', [before], output.name));
}

function constantOf({ name, values }: Tensor): Float32Array | Int32Array {
  if (!values) throw new Error(`${name} is not a constant`);
  return values;
}
