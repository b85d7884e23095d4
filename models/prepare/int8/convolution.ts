import {
  attributeOf,
  type Constant,
  constantsOf,
  dimsOf,
  floatsOf,
  type Graph,
  type Node,
} from '../graph.ts';

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
