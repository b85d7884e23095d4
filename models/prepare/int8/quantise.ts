import onnxProto from 'onnx-proto';
import {
  type Constant,
  type Convolution,
  constantsOf,
  convolutionOf,
  floatsOf,
  type Graph,
  type LocalFunction,
  makeNode,
  type Node,
} from '../graph.ts';

const { onnx } = onnxProto;
const { FLOAT, INT32, INT8, UINT8 } = onnx.TensorProto.DataType;

type Range = readonly [low: number, high: number];

/** Maximum integer of a weight. The minimum is −127, so that the range is symmetric around 0. */
const maxWeight = 127;

/** Returns the parameters that map a range to integers from 0 to 255: value = (integer − zero) × scale. */
function stepsOf([low, high]: Range): { scale: number; zero: number } {
  const width = Math.max(1e-6, high) - Math.min(0, low);
  return { scale: width / 255, zero: Math.round((255 * -Math.min(0, low)) / width) };
}

/**
 * Returns the scale of each output channel. Tries 70 to 100 % of the largest weight, and chooses the scale with the
 * smallest squared error. Channels with fewer than 32 weights use 100 %.
 */
function weightScales({ weights, outputs }: Convolution): Float32Array {
  const size = weights.length / outputs;
  return Float32Array.from({ length: outputs }, (_, channel) => {
    const row = weights.subarray(channel * size, (channel + 1) * size);
    const largest = row.reduce((max, weight) => Math.max(max, Math.abs(weight)), 0) || 1;
    if (size < 32) return largest / maxWeight;
    let [best, minError] = [largest / maxWeight, Number.POSITIVE_INFINITY];
    for (let share = 100; share >= 70; share -= 2) {
      const scale = (largest * share) / 100 / maxWeight;
      let error = 0;
      for (const weight of row) error += (weight - integerWeight(weight, scale) * scale) ** 2;
      if (error < minError) [best, minError] = [scale, error];
    }
    return best;
  });
}

function integerWeight(weight: number, scale: number): number {
  return Math.max(-maxWeight, Math.min(maxWeight, Math.round(weight / scale)));
}

/**
 * Replaces the nodes that `wants` selects by operators on integers (static quantisation). Activations are uint8 with
 * one scale per tensor, from `rangeOf`. Weights are int8 with one scale per channel. Biases are int32, with the
 * product of both scales. The integer tensors have channels last, as the runtime's integer convolutions require.
 */
export function quantise(
  graph: Graph,
  rangeOf: (tensor: string) => Range,
  wants: (node: Node) => boolean,
): void {
  const chosen = new Set(graph.node.filter(wants));
  const quantiser = new Quantiser(graph, constantsOf(graph), rangeOf);
  const outputs = new Set(graph.output.map(({ name }) => name!));
  const floatInputs = new Set(graph.node.filter((node) => !chosen.has(node)).flatMap(({ input }) => input!));
  for (const node of graph.node) {
    const [output] = node.output as [string];
    if (chosen.has(node)) quantiser.addQuantised(node, outputs.has(output) || floatInputs.has(output));
    else quantiser.nodes.push(node);
  }
  graph.node = quantiser.nodes;
}

/** Collects the new nodes in order, and adds their constants to the graph. */
class Quantiser {
  readonly nodes: Node[] = [];
  private readonly graph: Graph;
  private readonly constants: Map<string, Constant>;
  private readonly rangeOf: (tensor: string) => Range;
  private readonly steps = new Map<string, { scale: number; names: [string, string] }>();
  private readonly wholes = new Set<string>();

  constructor(graph: Graph, constants: Map<string, Constant>, rangeOf: (tensor: string) => Range) {
    this.graph = graph;
    this.constants = constants;
    this.rangeOf = rangeOf;
  }

  /** Adds the integer form of a node. If `floats` is true, also converts its output to floats for other nodes. */
  addQuantised(node: Node, floats: boolean): void {
    const [output] = node.output as [string];
    const wholes = { Conv: this.convolution, Add: this.sum, PRelu: this.prelu };
    this.nodes.push(wholes[node.opType as keyof typeof wholes].call(this, node));
    this.wholes.add(output);
    if (floats) this.toFloat(output);
  }

  private convolution(node: Node): Node {
    const [x] = node.input as [string];
    const [y] = node.output as [string];
    const [weights, bias] = this.weights(node);
    const input = [this.whole(x), ...this.stepsOf(x).names, ...weights, ...this.stepsOf(y).names, bias];
    const made = makeNode('QLinearConv', input, `${y}/whole`, { channels_last: 1 }, domains.runtime);
    made.attribute!.push(...node.attribute!);
    return made;
  }

  private sum(node: Node): Node {
    const [y] = node.output as [string];
    const terms = node.input!.flatMap((term) => [this.whole(term), ...this.stepsOf(term).names]);
    return makeNode('QLinearAdd', [...terms, ...this.stepsOf(y).names], `${y}/whole`, {}, domains.runtime);
  }

  private prelu(node: Node): Node {
    const [x, slopeName] = node.input as [string, string];
    const [y] = node.output as [string];
    const slope = this.constants.get(slopeName)!;
    const ratio = this.stepsOf(x).scale / this.stepsOf(y).scale;
    const [up, ...down] = roundFactors([ratio, ...Array.from(floatsOf(slope), (a) => a * ratio)]);
    const factors = [
      this.constant(`${y}/up`, [], FLOAT, Float32Array.of(up!)),
      this.constant(`${y}/down`, [down.length], FLOAT, Float32Array.from(down)),
    ];
    const input = [this.whole(x), this.stepsOf(x).names[1], ...factors, this.stepsOf(y).names[1]];
    return makeNode(bytePreluName, input, `${y}/whole`, {}, domains.own);
  }

  /** Returns the name of the tensor in integers with channels last. Adds the conversion if necessary. */
  private whole(tensor: string): string {
    const name = `${tensor}/whole`;
    if (this.wholes.has(tensor)) return name;
    this.nodes.push(
      makeNode('QuantizeLinear', [tensor, ...this.stepsOf(tensor).names], `${tensor}/planes`),
      makeNode('Transpose', [`${tensor}/planes`], name, { perm: [0, 2, 3, 1] }),
    );
    this.wholes.add(tensor);
    return name;
  }

  private toFloat(tensor: string): void {
    this.nodes.push(
      makeNode('Transpose', [`${tensor}/whole`], `${tensor}/planes`, { perm: [0, 3, 1, 2] }),
      makeNode('DequantizeLinear', [`${tensor}/planes`, ...this.stepsOf(tensor).names], tensor),
    );
  }

  private stepsOf(tensor: string): { scale: number; names: [string, string] } {
    const known = this.steps.get(tensor);
    if (known) return known;
    const { scale, zero } = stepsOf(this.rangeOf(tensor));
    const made = {
      scale,
      names: [
        this.constant(`${tensor}/scale`, [], FLOAT, Float32Array.of(scale)),
        this.constant(`${tensor}/zero`, [], UINT8, Uint8Array.of(zero)),
      ] as [string, string],
    };
    this.steps.set(tensor, made);
    return made;
  }

  /** Adds a convolution's integer weights, their scales and zeros, and its bias. Returns the names of the constants. */
  private weights(node: Node): [weights: string[], bias: string] {
    const conv = convolutionOf(this.graph, node, this.constants);
    const [name] = node.output as [string];
    const input = this.stepsOf(node.input![0]!).scale;
    const size = conv.weights.length / conv.outputs;
    const scales = weightScales(conv);
    const whole = Int8Array.from(conv.weights, (weight, i) =>
      integerWeight(weight, scales[Math.floor(i / size)]!),
    );
    const bias = Int32Array.from(conv.bias, (value, i) =>
      Math.round(value / Math.fround(scales[i]! * input)),
    );
    const weights = [
      this.constant(`${name}/weight`, conv.dims, INT8, whole),
      this.constant(`${name}/weight/scale`, [scales.length], FLOAT, scales),
      this.constant(`${name}/weight/zero`, [scales.length], INT8, new Int8Array(scales.length)),
    ];
    return [weights, this.constant(`${name}/bias`, [conv.outputs], INT32, bias)];
  }

  private constant(name: string, dims: number[], dataType: number, values: ArrayBufferView): string {
    const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    this.graph.initializer.push(onnx.TensorProto.create({ name, dims, dataType, rawData }));
    return name;
  }
}

/** Domains of operators that ONNX does not define: ONNX Runtime's, and that of BytePRelu (byte_prelu.cpp). */
export const domains = { runtime: 'com.microsoft', own: 'facematch' } as const;

export const bytePreluName = 'BytePRelu';

/**
 * Defines PReLU on bytes with channels last, by standard ONNX operators:
 *
 *   y = saturate(⌊up · max(x − x_zero, 0) + down · min(x − x_zero, 0) + ½⌋ + y_zero)
 *
 * A runtime without the addon's implementation runs this definition. The result is the same, because a 32-bit float
 * represents each of these products exactly.
 */
export function bytePrelu(opset: number): LocalFunction {
  return onnx.FunctionProto.create({
    name: bytePreluName,
    domain: domains.own,
    opsetImport: [onnx.OperatorSetIdProto.create({ domain: '', version: opset })],
    input: ['x', 'x_zero', 'up', 'down', 'y_zero'],
    output: ['y'],
    node: [
      makeFloat('one', 1),
      makeFloat('half', 0.5),
      makeNode('DequantizeLinear', ['x', 'one', 'x_zero'], 'distance'),
      makeNode('Relu', ['distance'], 'above'),
      makeNode('Sub', ['distance', 'above'], 'below'),
      makeNode('Mul', ['above', 'up'], 'rising'),
      makeNode('Mul', ['below', 'down'], 'falling'),
      makeNode('Add', ['rising', 'falling'], 'bent'),
      makeNode('Add', ['bent', 'half'], 'raised'),
      makeNode('Floor', ['raised'], 'whole'),
      makeNode('QuantizeLinear', ['whole', 'one', 'y_zero'], 'y'),
    ],
  });
}

function makeFloat(name: string, f: number): Node {
  const value = onnx.AttributeProto.create({
    name: 'value_float',
    type: onnx.AttributeProto.AttributeType.FLOAT,
    f,
  });
  return onnx.NodeProto.create({ opType: 'Constant', name, output: [name], attribute: [value] });
}

const maxFactor = 32767;
const maxBits = 15;

/** Rounds the factors of one BytePRelu to 16-bit fixed-point numbers with the same number of fractional bits. */
export function roundFactors(factors: number[]): number[] {
  const largest = Math.max(...factors.map(Math.abs));
  const bits = Math.min(maxBits, Math.floor(Math.log2(maxFactor / largest)));
  return factors.map((factor) => Math.round(factor * 2 ** bits) / 2 ** bits);
}
