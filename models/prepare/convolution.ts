import {
  attributeOf,
  type Constant,
  constantsOf,
  dimsOf,
  floatsOf,
  type Graph,
  makeFloats,
  type Node,
} from './graph.ts';

/** What a convolution is: its weights, laid out out × in/group × height × width, and its bias, zeros where it has none. */
export interface Convolution {
  weights: Float32Array;
  bias: Float32Array;
  dims: number[];
  outputs: number;
  /** In a group. */
  inputs: number;
  kind: 'depthwise' | 'pointwise' | 'full';
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
  const [outputs, inputs, height, width] = dims as [number, number, number, number];
  const grouped = Number(attributeOf(node, 'group')?.i ?? 1) > 1;
  const pointwise = height === 1 && width === 1;
  return {
    weights: floatsOf(weight),
    bias: biasName ? floatsOf(constants.get(biasName)!) : new Float32Array(outputs),
    dims,
    outputs,
    inputs,
    kind: grouped ? 'depthwise' : pointwise ? 'pointwise' : 'full',
  };
}

/** Which input channel a weight of the convolution belongs to, by the weight's place. */
export function inputChannel(graph: Graph, node: Node): (place: number) => number {
  const { dims, kind } = convolutionOf(graph, node);
  const [, inputs, height, width] = dims as [number, number, number, number];
  const area = height * width;
  return (place) => (kind === 'depthwise' ? Math.floor(place / area) : Math.floor(place / area) % inputs);
}

/** Multiplies the values of a node's constant, which nobody else reads. */
export function scaleConstant(
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
