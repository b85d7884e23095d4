import {
  constantsOf,
  floatsOf,
  type Graph,
  makeFloats,
  makeNode,
  type Node,
  producersOf,
  replaceNode,
} from './graph.ts';

/** The end of an SSD detector: names of tensors, and the constants that it works with. */
interface BoxDecoding {
  corners: Node;
  location: string;
  centreVariance: number;
  sizeVariance: number;
  /** Centre and size of each prior box, two numbers a box. */
  priorCentres: Float32Array;
  priorSizes: Float32Array;
}

/**
 * The decoding of boxes at the end of an SSD detector, in fewer and wider steps. With l for the location, p for the
 * prior box and v for the variances,
 *
 *   centre = l[0..1]·v₁·p.size + p.centre,   size = exp(l[2..3]·v₂)·p.size,   corners = centre ∓ size/2
 *
 * takes six slices and two joins of columns, which cost more than the arithmetic. The same with none of them:
 *
 *   corners = (l·A)·P + C + exp(l·B)·H
 *
 * where A is 4×4 and lays out the centre's columns twice, B the size's, times v₂; P, C and H are four wide.
 */
export function rewriteBoxDecoding(graph: Graph): void {
  const decoding = findDecoding(graph);
  if (!decoding) return;
  const { corners, location, centreVariance, sizeVariance: v, priorCentres, priorSizes } = decoding;
  const [y] = corners.output as [string];
  const boxes = priorSizes.length / 2;
  const constant = (name: string, dims: number[], values: Float32Array): string => {
    graph.initializer.push(makeFloats(`${y}/${name}`, dims, values));
    return `${y}/${name}`;
  };
  const fourWide = (name: string, value: (column: number, twoWide: number) => number): string => {
    const values = Float32Array.from({ length: boxes * 4 }, (_, i) => value(i % 4, (i >> 2) * 2 + (i % 2)));
    return constant(name, [1, boxes, 4], values);
  };
  const takeCentre = constant('A', [4, 4], Float32Array.of(1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0));
  const takeSize = constant('B', [4, 4], Float32Array.of(0, 0, 0, 0, 0, 0, 0, 0, v, 0, v, 0, 0, v, 0, v));
  const scale = fourWide('P', (_, i) => centreVariance * priorSizes[i]!);
  const centre = fourWide('C', (_, i) => priorCentres[i]!);
  const half = fourWide('H', (column, i) => (column < 2 ? -0.5 : 0.5) * priorSizes[i]!);
  replaceNode(graph, corners, [
    makeNode('MatMul', [location, takeCentre], `${y}/offsets`),
    makeNode('Mul', [`${y}/offsets`, scale], `${y}/scaled`),
    makeNode('Add', [`${y}/scaled`, centre], `${y}/centres`),
    makeNode('MatMul', [location, takeSize], `${y}/exponents`),
    makeNode('Exp', [`${y}/exponents`], `${y}/growth`),
    makeNode('Mul', [`${y}/growth`, half], `${y}/halves`),
    makeNode('Add', [`${y}/centres`, `${y}/halves`], y),
  ]);
}

/**
 * Walks back from each output through the operators that make up the decoding. Which columns its slices take is not
 * looked at: every rewrite is checked by running both nets, and a net that slices otherwise would fail there.
 */
function findDecoding(graph: Graph): BoxDecoding | undefined {
  const producers = producersOf(graph);
  const constants = constantsOf(graph);
  /** The inputs of the node that makes `tensor`, when that node is an `opType`; otherwise nothing, all the way up. */
  const inputs = (tensor: string | undefined, opType: string): (string | undefined)[] => {
    const node = producers.get(tensor ?? '');
    return node?.opType === opType ? node.input! : [];
  };
  const floats = (tensor: string | undefined): Float32Array | undefined => {
    const constant = constants.get(tensor ?? '');
    return constant && floatsOf(constant);
  };
  for (const { name } of graph.output) {
    const [low, high] = inputs(name!, 'Concat');
    const [lowCentre, lowHalf] = inputs(low, 'Sub');
    const [, highHalf] = inputs(high, 'Add');
    const halves = [lowHalf, highHalf].map((half) => floats(inputs(half, 'Div')[1])?.[0]);
    const [decoded] = inputs(lowCentre, 'Slice');
    const [centre, size] = inputs(decoded, 'Concat');
    const [scaled, priorCentres] = inputs(centre, 'Add');
    const [offset, centreScale] = inputs(scaled, 'Mul');
    const [offsetColumns, centreVariance] = inputs(offset, 'Mul');
    const [location] = inputs(offsetColumns, 'Slice');
    const [growth, priorSizes] = inputs(size, 'Mul');
    const [sizeColumns, sizeVariance] = inputs(inputs(growth, 'Exp')[0], 'Mul');
    const found = {
      corners: producers.get(name!),
      location,
      centreVariance: floats(centreVariance)?.[0],
      sizeVariance: floats(sizeVariance)?.[0],
      priorCentres: floats(priorCentres),
      priorSizes: floats(priorSizes),
    };
    const isWhole = Object.values(found).every((part) => part !== undefined);
    const isSame =
      location === inputs(sizeColumns, 'Slice')[0] &&
      found.priorSizes?.length === floats(centreScale)?.length;
    if (isWhole && isSame && halves.every((half) => half === 2)) return found as BoxDecoding;
  }
  return undefined;
}
