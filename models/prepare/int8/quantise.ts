import onnxProto from 'onnx-proto';
import {
  type Constant,
  type Convolution,
  constantsOf,
  convolutionOf,
  type Graph,
  makeNode,
  type Node,
  producersOf,
  readersOf,
} from '../graph.ts';

const { onnx } = onnxProto;
const { FLOAT, INT32, INT8, UINT8 } = onnx.TensorProto.DataType;

/** Lowest and highest value of a tensor. */
type Range = readonly [low: number, high: number];

/** The largest whole number of a weight: its negative is one too, so a weight's zero stays zero. */
const largestWeight = 127;

/** A range in whole numbers from 0 to 255: a value is (whole − zero) × scale. What is never negative takes them all. */
function stepsOf([low, high]: Range): { scale: number; zero: number } {
  const width = Math.max(1e-6, high) - Math.min(0, low);
  return { scale: width / 255, zero: Math.round((255 * -Math.min(0, low)) / width) };
}

/** The scale of each output channel: by the largest weight, or the one whose squared error is least. */
function weightScales({ weights, outputs }: Convolution): Float32Array {
  const size = weights.length / outputs;
  return Float32Array.from({ length: outputs }, (_, channel) => {
    const row = weights.subarray(channel * size, (channel + 1) * size);
    const largest = row.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) || 1;
    if (size < 32) return largest / largestWeight;
    let [best, least] = [largest / largestWeight, Number.POSITIVE_INFINITY];
    for (let share = 100; share >= 70; share -= 2) {
      const scale = (largest * share) / 100 / largestWeight;
      let error = 0;
      for (const weight of row) error += (weight - wholeWeight(weight, scale) * scale) ** 2;
      if (error < least) [best, least] = [scale, error];
    }
    return best;
  });
}

function wholeWeight(weight: number, scale: number): number {
  return Math.max(-largestWeight, Math.min(largestWeight, Math.round(weight / scale)));
}

/**
 * Static quantisation in QDQ form (ONNX Runtime, "Quantize ONNX models"): QuantizeLinear and DequantizeLinear around the
 * nodes for which `wants` holds, which the runtime fuses into operators on whole numbers. Activations are uint8, one
 * scale a tensor, by `rangeOf`; weights are int8, one scale a channel; biases int32 by the product of both. A Relu
 * behind such a node falls away: its range begins at 0, and quantising clamps.
 */
export function quantise(
  graph: Graph,
  rangeOf: (tensor: string) => Range,
  wants: (node: Node, convolution?: Convolution) => boolean,
): void {
  const constants = constantsOf(graph);
  const chosen = new Set(
    graph.node.filter((node) =>
      wants(node, node.opType === 'Conv' ? convolutionOf(graph, node, constants) : undefined),
    ),
  );
  clampInsteadOfRelu(graph, chosen);
  const quantiser = new Quantiser(graph, constants, rangeOf);
  const outputs = new Set(graph.output.map(({ name }) => name!));
  const floatInputs = new Set(graph.node.filter((node) => !chosen.has(node)).flatMap(({ input }) => input!));
  for (const node of graph.node) {
    const [output] = node.output as [string];
    if (chosen.has(node)) quantiser.take(node, outputs.has(output) || floatInputs.has(output));
    else quantiser.nodes.push(node);
  }
  graph.node = quantiser.nodes;
}

function clampInsteadOfRelu(graph: Graph, chosen: ReadonlySet<Node>): void {
  const readers = readersOf(graph);
  const producers = producersOf(graph);
  graph.node = graph.node.filter((node) => {
    const [input] = node.input as [string];
    const producer = producers.get(input);
    if (node.opType !== 'Relu' || !producer || !chosen.has(producer) || readers.get(input) !== 1) return true;
    producer.output = [...node.output!];
    return false;
  });
}

/** Writes the new nodes in order, and their constants into the graph. */
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

  /** The node on whole numbers; `floats`: somebody reads its output as floats. */
  take(node: Node, floats: boolean): void {
    const [output] = node.output as [string];
    // A DequantizeLinear of its own for each reader, or the runtime would not take the group for its own.
    const read = node.input!.slice(0, node.opType === 'Conv' ? 1 : 2).map((tensor) => {
      this.toWhole(tensor, tensor);
      return this.toFloat(tensor, `${tensor}/for/${output}`);
    });
    if (node.opType === 'Conv') read.push(...this.weights(node));
    node.input = read;
    node.name = `${output}/raw`;
    node.output = [node.name];
    this.nodes.push(node);
    this.toWhole(output, node.name);
    if (floats) this.toFloat(output, output);
  }

  private toWhole(tensor: string, from: string): void {
    if (this.wholes.has(tensor)) return;
    this.nodes.push(makeNode('QuantizeLinear', [from, ...this.stepsOf(tensor).names], `${tensor}/whole`));
    this.wholes.add(tensor);
  }

  private toFloat(tensor: string, name: string): string {
    this.nodes.push(makeNode('DequantizeLinear', [`${tensor}/whole`, ...this.stepsOf(tensor).names], name));
    return name;
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

  /** Weights and bias of a convolution as whole numbers, with what makes floats of them. */
  private weights(node: Node): [string, string] {
    const conv = convolutionOf(this.graph, node, this.constants);
    const [name] = node.output as [string];
    const input = this.stepsOf(node.input![0]!).scale;
    const size = conv.weights.length / conv.outputs;
    const scales = weightScales(conv);
    const biasScales = scales.map((scale) => scale * input);
    const whole = Int8Array.from(conv.weights, (weight, i) =>
      wholeWeight(weight, scales[Math.floor(i / size)]!),
    );
    const bias = Int32Array.from(conv.bias, (value, i) => Math.round(value / biasScales[i]!));
    return [
      this.constantToFloat(`${name}/weight`, conv.dims, INT8, whole, scales),
      this.constantToFloat(`${name}/bias`, [conv.outputs], INT32, bias, biasScales),
    ];
  }

  private constantToFloat(
    name: string,
    dims: number[],
    type: number,
    values: Int8Array | Int32Array,
    scales: Float32Array,
  ): string {
    const zeros = values instanceof Int8Array ? new Int8Array(scales.length) : new Int32Array(scales.length);
    const parts = [
      this.constant(name, dims, type, values),
      this.constant(`${name}/scale`, [scales.length], FLOAT, scales),
      this.constant(`${name}/zero`, [scales.length], type, zeros),
    ];
    this.nodes.push(makeNode('DequantizeLinear', parts, `${name}/float`, { axis: 0 }));
    return `${name}/float`;
  }

  private constant(name: string, dims: number[], dataType: number, values: ArrayBufferView): string {
    const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    this.graph.initializer.push(onnx.TensorProto.create({ name, dims, dataType, rawData }));
    return name;
  }
}
