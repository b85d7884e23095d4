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
 * Softmax over two classes as a sigmoid of their difference, softmax(a, b) = (σ(a − b), σ(b − a)), where the
 * convolutions in front take the difference: they are linear, so it costs nothing. ONNX Runtime's softmax starts
 * anew for each of a detector's thousands of rows of two.
 */
export function rewritePairSoftmax(graph: Graph): void {
  for (const softmax of graph.node.filter(({ opType }) => opType === 'Softmax')) {
    const heads = findHeads(graph, softmax);
    if (!heads) continue;
    for (const head of heads) takeDifferences(graph, head);
    replaceNode(graph, softmax, [makeNode('Sigmoid', [softmax.input![0]!], softmax.output![0]!)]);
  }
}

/** The convolutions whose channels, in pairs, are the two classes; none if the model is built differently. */
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

function takeDifferences(graph: Graph, head: Node): void {
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

/** Name of the output that replaces the decoded boxes: offsets from the priors, 1×n×4. */
export const offsetsOutput = 'offsets';

/**
 * Leaves the decoding of Ultra-Light's boxes to the caller. A detector decodes thousands of boxes, of which
 * only a few score high enough; and its prior boxes, constants for one input size, are all that binds it to
 * that size: without them height and width are left open. A model whose boxes are decoded otherwise fails
 * when both models are compared.
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
  // Values that were computed for the one size.
  graph.valueInfo = [];
}

/** Walks back from each output through the decoding operators to their input. */
function findDecoding(graph: Graph): { corners: string; location: string } | undefined {
  const producers = producersOf(graph);
  /**
   * Returns the inputs of the node that makes `tensor`, if that node is an `opType`; otherwise nothing, all
   * the way up.
   */
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
 * The priors of Ultra-Light (RFB and slim), as its author trained it: in each cell of four grids two or three
 * squares, their sides in pixels. Cells share the input evenly, even if its side is no multiple of the
 * stride. `native/core/find/families/rfb.cpp` repeats this.
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
  /** x, y of each prior box's centre, in shares of the input. */
  centres: Float32Array;
  /** Width and height of each, at most the whole input. */
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
 * Corners (left, top, right, bottom in shares of the input) out of a net's offsets from its priors (1×n×4). With l for
 * the offsets, p for the prior and v for the variances: centre = l[0..1]·v₁·p.size + p.centre, size = exp(l[2..3]·v₂)·p.size.
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
