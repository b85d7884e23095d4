import {
  attributeOf,
  constantsOf,
  dimsOf,
  floatsOf,
  type Graph,
  makeFloats,
  makeNode,
  type Node,
  producersOf,
  readersOf,
  renameTensor,
  replaceNode,
} from './graph.ts';

/**
 * Replaces a softmax over two classes by a sigmoid: softmax(a, b) = (σ(a − b), σ(b − a)). The subtraction moves into
 * the weights of the previous convolutions, which are linear, so it takes no time at run time. ONNX Runtime's softmax
 * is slow on a detector's output, which has thousands of rows of two values.
 */
export function rewritePairSoftmax(graph: Graph): void {
  for (const softmax of graph.node.filter(({ opType }) => opType === 'Softmax')) {
    const heads = findHeads(graph, softmax);
    if (!heads) continue;
    for (const head of heads) subtractClassWeights(graph, head);
    replaceNode(graph, softmax, [makeNode('Sigmoid', [softmax.input![0]!], softmax.output![0]!)]);
  }
}

/** Returns the convolutions with the two classes in pairs of channels; undefined if the model is built differently. */
function findHeads(graph: Graph, softmax: Node): Node[] | undefined {
  const output = graph.output.find(({ name }) => name === softmax.output![0]);
  const shape = output?.type?.tensorType?.shape?.dim?.map((dim) => Number(dim.dimValue));
  if (shape?.length !== 3 || shape[2] !== 2 || Number(attributeOf(softmax, 'axis')?.i) !== 2)
    return undefined;

  const producers = producersOf(graph);
  const readers = readersOf(graph);
  const before = (node: Node | undefined, opType: string): Node | undefined => {
    const tensor = node?.input?.[0];
    const producer = tensor === undefined || readers.get(tensor) !== 1 ? undefined : producers.get(tensor);
    return producer?.opType === opType ? producer : undefined;
  };
  const heads = before(softmax, 'Concat')?.input?.map((part) => {
    const reshape = readers.get(part) === 1 ? producers.get(part) : undefined;
    const transpose = before(reshape?.opType === 'Reshape' ? reshape : undefined, 'Transpose');
    const channelsLast = transpose && String(attributeOf(transpose, 'perm')?.ints) === '0,2,3,1';
    return channelsLast ? before(transpose, 'Conv') : undefined;
  });
  return heads?.every((head) => head !== undefined) ? heads : undefined;
}

/** Replaces the weights of each class by their difference from those of the other class. */
function subtractClassWeights(graph: Graph, head: Node): void {
  const constants = constantsOf(graph);
  head.input = head.input!.map((name, position) => {
    const constant = constants.get(name);
    if (position === 0 || !constant) return name;
    const values = floatsOf(constant);
    const channel = values.length / dimsOf(constant)[0]!;
    const differences = values.map((value, i) => {
      const isFirst = Math.floor(i / channel) % 2 === 0;
      return value - values[isFirst ? i + channel : i - channel]!;
    });
    graph.initializer.push(makeFloats(`${name}/difference`, dimsOf(constant), differences));
    return `${name}/difference`;
  });
}

/** Name of the output with offsets from the priors (1×n×4), which replaces the output with decoded boxes. */
export const offsetsOutput = 'offsets';

/**
 * Removes the box decoding from Ultra-Light models, so that the caller decodes only the few boxes with a high score.
 * The decoding contains prior boxes for one input size. Without them the model accepts any input size. A model with
 * other priors fails in verifyRewrite.
 */
export function cutBoxDecoding(graph: Graph): void {
  const decoding = findDecoding(graph);
  if (!decoding) return;
  renameTensor(graph, decoding.location, offsetsOutput);
  for (const output of graph.output) {
    if (output.name === decoding.corners) output.name = offsetsOutput;
    const dims = output.type!.tensorType!.shape!.dim!;
    dims[1] = { dimParam: 'priors' };
  }
  const input = graph.input[0]!.type!.tensorType!.shape!.dim!;
  input[2] = { dimParam: 'height' };
  input[3] = { dimParam: 'width' };
  // These shapes are valid only for the original input size.
  graph.valueInfo = [];
}

/** Follows the decoding operators from each output back to their input. */
function findDecoding(graph: Graph): { corners: string; location: string } | undefined {
  const producers = producersOf(graph);
  /** Returns the inputs of the node that computes `tensor` if it has this `opType`; otherwise an empty list. */
  const inputs = (tensor: string | undefined, opType: string): (string | undefined)[] => {
    const node = producers.get(tensor ?? '');
    return node?.opType === opType ? node.input! : [];
  };
  for (const { name } of graph.output) {
    const [low] = inputs(name!, 'Concat');
    const [lowCentre] = inputs(low, 'Sub');
    const [decoded] = inputs(lowCentre, 'Slice');
    const [centre, size] = inputs(decoded, 'Concat');
    const [scaled] = inputs(centre, 'Add');
    const [offset] = inputs(scaled, 'Mul');
    const [offsetColumns] = inputs(offset, 'Mul');
    const [location] = inputs(offsetColumns, 'Slice');
    const [growth] = inputs(size, 'Mul');
    const [sizeColumns] = inputs(inputs(growth, 'Exp')[0], 'Mul');
    if (location !== undefined && location === inputs(sizeColumns, 'Slice')[0])
      return { corners: name!, location };
  }
  return undefined;
}

/**
 * The priors of the published Ultra-Light models (RFB and slim). Each cell of four grids has two or three squares,
 * with sides in pixels. All cells have the same size, even if the side of the input is not a multiple of the stride.
 * native/core/find/families/rfb.cpp has the same table.
 */
const grids = [
  { stride: 8, sides: [10, 16, 24] },
  { stride: 16, sides: [32, 48] },
  { stride: 32, sides: [64, 96] },
  { stride: 64, sides: [128, 192, 256] },
] as const;

const centreVariance = 0.1;
const sizeVariance = 0.2;

interface Priors {
  /** x and y of each centre, relative to the size of the input. */
  centres: Float32Array;
  /** Width and height of each box, relative to the size of the input, at most 1. */
  sizes: Float32Array;
}

export function priorsFor(width: number, height: number): Priors {
  const centres: number[] = [];
  const sizes: number[] = [];
  for (const { stride, sides } of grids) {
    const [columns, rows] = [Math.ceil(width / stride), Math.ceil(height / stride)];
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        for (const side of sides) {
          centres.push((column + 0.5) / columns, (row + 0.5) / rows);
          sizes.push(Math.min(1, side / width), Math.min(1, side / height));
        }
      }
    }
  }
  return { centres: Float32Array.from(centres), sizes: Float32Array.from(sizes) };
}

/**
 * Decodes offsets from priors (1×n×4) to corners: left, top, right and bottom, relative to the size of the input. With
 * offsets l, prior p and variances v: centre = l[0..1]·v₁·p.size + p.centre, size = exp(l[2..3]·v₂)·p.size.
 */
export function cornersOf(offsets: Float32Array, width: number, height: number): Float32Array {
  const { centres, sizes } = priorsFor(width, height);
  const corners = new Float32Array(offsets.length);
  for (let i = 0; i < offsets.length; i += 4) {
    for (const axis of [0, 1]) {
      const prior = (i >> 2) * 2 + axis;
      const centre = offsets[i + axis]! * centreVariance * sizes[prior]! + centres[prior]!;
      const half = (Math.exp(offsets[i + 2 + axis]! * sizeVariance) * sizes[prior]!) / 2;
      corners[i + axis] = centre - half;
      corners[i + 2 + axis] = centre + half;
    }
  }
  return corners;
}
