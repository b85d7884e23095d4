import { basename } from 'node:path';
import {
  type FamilyName,
  type Fed,
  type Feeding,
  families,
  feedings,
  loadAddon,
  type NetFacts,
  type TensorFacts,
  usualFamilies,
} from 'facematch/for-lab';

/** A file of a net → the members of a manifest that describe it, and what had to be assumed. */

interface Described {
  members: Record<string, unknown>;
  /** A line for each thing that the file does not say. */
  assumed: string[];
}

/** `known`: the family, where the user names it. Throws an Error with a message for people. */
export function describeDetector(
  file: string,
  known: string | undefined,
): Described & { min_det_score: number } {
  const { net, input, sides } = opened(file, 3);
  const candidates = known === undefined ? usualFamilies : [known as FamilyName];
  let facts = net;
  for (const name of candidates) {
    const family = families[name].usual!;
    const [height, width] = sides.map((side) => (side > 0 ? side : family.side)) as [number, number];
    const size = `${width}×${height}`;
    facts = loadAddon().describeNet(file, [1, 3, height, width]);
    const { feeding, nms_iou, min_det_score, second_look_score, source, grids } = family;
    const outputs = outputsOf(facts, { family: name, width, height, ...grids });
    if (outputs === undefined) continue;
    if (name === 'rfb' && outputs.offsets === 'boxes') {
      throw new Error(
        'This net of the family rfb decodes its own boxes. Preparing cuts that off, in a checkout of the repository: ' +
          'see models/README.md, "A pack of your own"',
      );
    }
    const open = sides.some((side) => side < 0);
    return {
      members: {
        family: name,
        input: input.name,
        ...feeding,
        scale: rounded(feeding.scale),
        nms_iou,
        second_look_score,
        ...grids,
        ...outputs,
        width,
        height,
      },
      min_det_score,
      assumed: [
        `detector: family ${name}${known === undefined ? ', by its outputs' : ''}`,
        `detector: fed ${feedingWords(feeding)}, ${source}`,
        ...(open ? [`detector: ${size} at most; the file leaves its sides open`] : []),
        `detector: min_det_score ${min_det_score}, second_look_score ${second_look_score}, nms_iou ${nms_iou}; not measured`,
      ],
    };
  }
  throw new Error(
    `${file} is of none of the families ${candidates.join(', ')} by its outputs: ${shapesOf(facts)}`,
  );
}

/** The members that name the outputs of a detector; undefined when the net is of another family. */
function outputsOf(
  { outputs }: NetFacts,
  detector: { family: FamilyName; width: number; height: number },
): Record<string, string | string[]> | undefined {
  const named: Record<string, string[]> = {};
  for (const { member, stride, rows, columns } of loadAddon().detectorOutputs(detector)) {
    // A batch of 1 may stand before.
    const fitting = outputs.filter(({ shape }) => {
      const [last, before, ...batch] = shape.toReversed();
      return last === columns && before === rows && batch.every((side) => side === 1);
    });
    // Shapes do not tell YuNet's cls from its obj.
    const [only = undefined, ...more] = fitting;
    const chosen = more.length === 0 ? only : fitting.find(({ name }) => name === `${member}_${stride}`);
    if (chosen === undefined) return undefined;
    named[member] = [...(named[member] ?? []), chosen.name];
  }
  const counts = families[detector.family].outputs;
  return Object.fromEntries(
    Object.entries(named).map(([member, names]) => [member, counts[member] === 'one' ? names[0]! : names]),
  );
}

/** `output` and `feeding` where the user names them. Throws an Error with a message for people. */
export function describeEmbedder(
  file: string,
  { output, feeding }: { output: string | undefined; feeding: Feeding | undefined },
): Described {
  const { input, sides } = opened(file, 3);
  // ArcFace's, where the file leaves them open.
  const [height, width] = sides.map((side) => (side > 0 ? side : 112)) as [number, number];
  if (height !== width)
    throw new Error(`${file} takes ${width}×${height}: an embedder's input must be square`);
  const net = loadAddon().describeNet(file, [1, 3, height, width]);
  const vectors = net.outputs.filter(
    ({ name, shape }) => (output === undefined ? isVector(shape) : name === output) && shape.length > 0,
  );
  const [vector] = vectors;
  if (vector === undefined || vectors.length > 1) {
    const wanted = output === undefined ? 'one vector of 32 to 4,096 numbers' : `an output ${output}`;
    throw new Error(
      `${file} should have ${wanted}, and has ${shapesOf(net)}.${vectors.length > 1 ? ' Choose one with --output.' : ''}`,
    );
  }
  const dimensions = sizeOf(vector.shape);
  const isSface = input.name === 'data' && vector.name === 'fc1' && dimensions === 128;
  const chosen = feeding ?? (isSface ? 'sface' : 'insightface');
  const how = feedings[chosen];
  return {
    members: {
      family: 'arcface',
      input: input.name,
      output: vector.name,
      size: width,
      ...how,
      scale: rounded(how.scale),
      dimensions,
    },
    assumed: [
      `embedder: fed ${feedingWords(how)}${feeding === undefined ? `, as ${chosen}'s are: a guess that --try PAIRS.tsv:DIR tries on pairs of your own` : ''}`,
      "embedder: the face lies in the chip as ArcFace's five points say",
      ...(sides.every((side) => side > 0)
        ? []
        : [`embedder: ${width}×${height}; the file leaves its sides open`]),
    ],
  };
}

/** Throws an Error with a message for people. */
export function describeLandmarks(file: string): Described {
  const { net, input, sides } = opened(file, 1);
  const [height, width] = sides as [number, number];
  if (height !== width || width < 1)
    throw new Error(`${file} should take one grey square, not ${shapesOf(net)}`);
  const measured = loadAddon().describeNet(file, [1, 1, height, width]);
  const output = measured.outputs.find(({ shape }) => sizeOf(shape) === 2 * 68);
  if (output === undefined)
    throw new Error(`${file} should answer with 68 points, and has ${shapesOf(measured)}`);
  return {
    members: { family: 'points68', input: input.name, output: output.name, size: width, channels: 'grey' },
    assumed: ["landmarks: fed and cropped as the default pack's"],
  };
}

/** A net for presentation attacks, whose crop is `scale` sides of the face. Throws an Error with a message for people. */
export function describeLiveness(file: string, scale: number): Described {
  const { net, input, sides } = opened(file, 3);
  // MiniFASNet's, where the file leaves them open.
  const [height, width] = sides.map((side) => (side > 0 ? side : 80)) as [number, number];
  if (height !== width) throw new Error(`${file} should take one square, not ${shapesOfInputs(net)}`);
  const measured = loadAddon().describeNet(file, [1, 3, height, width]);
  const [output, ...more] = measured.outputs.filter(({ shape }) => sizeOf(shape) === 3);
  if (output === undefined || more.length > 0) {
    throw new Error(`${file} should answer with three numbers, and has ${shapesOf(measured)}`);
  }
  return {
    members: { input: input.name, output: output.name, size: width, scale },
    assumed: [
      `liveness: ${basename(file)} fed BGR, bytes as they are, a crop of ${scale} sides of the face; of its three numbers the second says live`,
    ],
  };
}

/** The declared facts of a file with one input of this many channels, which stand before height and width. */
function opened(file: string, channels: number): { net: NetFacts; input: TensorFacts; sides: number[] } {
  const net = loadAddon().describeNet(file);
  if ([...net.inputs, ...net.outputs].some(({ type }) => type === 'float16')) {
    throw new Error(
      `${file} takes or gives half-precision floats (FP16). A net must have floats at its borders, and may have halves ` +
        'inside: docs/packs.md, "Half precision", has the lines of Python that convert it.',
    );
  }
  const [input, ...more] = net.inputs;
  const [batch, planes, ...sides] = input?.shape ?? [];
  const fits =
    input !== undefined &&
    more.length === 0 &&
    input.type === 'float' &&
    sides.length === 2 &&
    (planes === channels || planes === -1) &&
    (batch === 1 || batch === -1);
  if (fits) return { net, input, sides };
  throw new Error(
    `${file} should have one input of floats, 1×${channels}×height×width, and has ${shapesOfInputs(net) || 'none'}`,
  );
}

const sizeOf = (shape: readonly number[]) => shape.reduce((product, side) => product * side, 1);

const isVector = (shape: readonly number[]) => sizeOf(shape) >= 32 && sizeOf(shape) <= 4096;

const shapeOf = ({ name, shape, type }: TensorFacts) =>
  `"${name}" ${shape.map((side) => (side < 0 ? '?' : side)).join('×')}${type === 'other' ? ' (no floats)' : ''}`;

const shapesOfInputs = ({ inputs }: NetFacts) => inputs.map(shapeOf).join(', ');

const shapesOf = ({ outputs }: NetFacts) => outputs.map(shapeOf).join(', ');

/** Enough digits for any byte. */
const rounded = (scale: number) => Number(scale.toPrecision(12));

function feedingWords({ channels, mean, scale }: Fed): string {
  return `${channels.toUpperCase()}, (byte − ${mean}) × ${rounded(scale)}`;
}
