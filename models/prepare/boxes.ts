import { constantsOf, floatsOf, type Graph, producersOf, renameTensor, sidesOf } from './graph.ts';
import { centreVariance, priorsFor, sizeVariance } from './priors.ts';

/** Name of the output that takes the place of the decoded boxes: offsets from the priors, 1×n×4. */
export const offsetsOutput = 'offsets';

/** The end of an SSD detector: names of tensors, and the constants that it works with. */
interface BoxDecoding {
  corners: string;
  location: string;
  centreVariance: number;
  sizeVariance: number;
  /** Centre and size of each prior box, two numbers a box. */
  priorCentres: Float32Array;
  priorSizes: Float32Array;
}

/**
 * Leaves the decoding of Ultra-Light's boxes to whoever runs the net. A detector decodes thousands of boxes of which a few
 * score enough to be looked at; and its prior boxes, constants for one input size, are all that binds it to that size:
 * without them height and width are left open.
 */
export function cutBoxDecoding(graph: Graph): void {
  const decoding = findDecoding(graph);
  const sides = sidesOf(graph.input[0]);
  if (!decoding || !sides || !isUltraLight(decoding, sides)) return;
  renameTensor(graph, decoding.location, offsetsOutput);
  for (const output of graph.output) {
    if (output.name === decoding.corners) output.name = offsetsOutput;
    const dims = output.type!.tensorType!.shape!.dim!;
    dims[1] = { dimParam: 'priors' };
  }
  const input = graph.input[0]!.type!.tensorType!.shape!.dim!;
  input[2] = { dimParam: 'height' };
  input[3] = { dimParam: 'width' };
  // What was worked out for the one size.
  graph.valueInfo = [];
}

function isUltraLight(decoding: BoxDecoding, { width, height }: { width: number; height: number }): boolean {
  const near = (actual: number, expected: number) => Math.abs(actual - expected) < 1e-6;
  const same = (actual: Float32Array, expected: Float32Array) =>
    actual.length === expected.length && actual.every((value, i) => near(value, expected[i]!));
  const { centres, sizes } = priorsFor(width, height);
  return (
    near(decoding.centreVariance, centreVariance) &&
    near(decoding.sizeVariance, sizeVariance) &&
    same(decoding.priorCentres, centres) &&
    same(decoding.priorSizes, sizes)
  );
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
      corners: name,
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
