import { basename } from 'node:path';
import {
  type FamilyName,
  type Fed,
  families,
  type LivenessFamily,
  livenessFamilies,
  loadAddon,
  type NetFacts,
  type Preprocessing,
  preprocessings,
  type TensorFacts,
} from 'facematch/for-lab';
import { kindOf } from './net-kind.ts';
import { usual, usualFamilies } from './usual.ts';

/** Describes the file of a model as members of a manifest, with the assumptions made. */

export interface Described {
  members: Record<string, unknown>;
  /** One line for each assumption that the file does not confirm. */
  assumed: string[];
}

/** Input scaling and minimum score of a detector family. */
export type DescribedDetector = Described & { min_det_score: number };

/**
 * Returns the ways to decode a detector's outputs, given their shapes, the most likely first: a model that
 * decodes its own boxes may have the shapes of one that does not. `known`: the family, if the user names it.
 * Throws an Error with a message for people.
 */
export function describeDetector(file: string, known: string | undefined): DescribedDetector[] {
  const { net, input, sides, measured } = opened(file, 3);
  const names = known === undefined ? usualFamilies : [known as FamilyName];
  let rejectedNet: NetFacts | undefined;
  const candidates = names.flatMap((name): DescribedDetector[] => {
    const family = usual[name]!;
    const [height, width] = sides.map((side) => (side > 0 ? side : family.side)) as [number, number];
    let facts: NetFacts;
    try {
      facts = measured(height, width);
      rejectedNet ??= facts;
    } catch (error) {
      // The sides that a family assumes may not be this model's.
      if (sides.every((side) => side > 0)) throw error;
      return [];
    }
    const { preprocessing, nms_iou, min_det_score, second_look_score, source, grids } = family;
    const outputs = outputsOf(facts, { family: name, width, height, ...grids });
    if (outputs === undefined) return [];
    const open = sides.some((side) => side < 0);
    return [
      {
        members: {
          family: name,
          input: input.name,
          ...preprocessing,
          scale: rounded(preprocessing.scale),
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
          `detector: fed ${preprocessingText(preprocessing)}, ${source}`,
          ...(open ? [`detector: ${width}×${height} at most; the file leaves its sides open`] : []),
          `detector: min_det_score ${min_det_score}, second_look_score ${second_look_score}, nms_iou ${nms_iou}; not measured`,
        ],
      },
    ];
  });
  if (candidates.length > 0) return candidates;
  throw misfit(
    `${file} is of none of the families ${names.join(', ')} by its outputs: ${shapesOf(rejectedNet ?? net)}`,
    rejectedNet ?? net,
  );
}

/**
 * Returns the members that name the outputs of a detector; undefined if the model belongs to another family.
 */
function outputsOf(
  { outputs }: NetFacts,
  detector: { family: FamilyName; width: number; height: number },
): Record<string, string | string[]> | undefined {
  const named: Record<string, string[]> = {};
  for (const { member, stride, rows, columns } of loadAddon().detectorOutputs(detector)) {
    const isFitting = ({ shape }: TensorFacts) =>
      shape.length > 1 && shape.at(-1) === columns && (rows === 0 || sizeOf(shape) === rows * columns);
    const [only, ...more] = outputs.filter(isFitting);
    // Shapes do not distinguish YuNet's cls from its obj.
    const chosen =
      more.length === 0
        ? only
        : outputs.find((output) => isFitting(output) && output.name === `${member}_${stride}`);
    if (chosen === undefined) return undefined;
    named[member] = [...(named[member] ?? []), chosen.name];
  }
  const counts = families[detector.family].outputs;
  return Object.fromEntries(
    Object.entries(named).map(([member, names]) => [member, counts[member] === 'one' ? names[0]! : names]),
  );
}

/** `output` and `preprocessing` are given if the user names them. Throws an Error with a message for people. */
export function describeEmbedder(
  file: string,
  { output, preprocessing }: { output: string | undefined; preprocessing: Preprocessing | undefined },
): Described {
  const { input, sides, measured } = opened(file, 3);
  // If the file leaves its sides open, ArcFace's are assumed.
  const [height, width] = sides.map((side) => (side > 0 ? side : 112)) as [number, number];
  if (height !== width)
    throw new Error(`${file} takes ${width}×${height}: an embedder's input must be square`);
  const net = measured(height, width);
  const vectors = net.outputs.filter(
    ({ name, shape }) => (output === undefined ? isVector(shape) : name === output) && shape.length > 0,
  );
  const [vector] = vectors;
  const wanted = output === undefined ? 'one vector of 32 to 4,096 numbers' : `an output ${output}`;
  const misses = `${file} should have ${wanted}, and has ${shapesOf(net)}`;
  if (vector === undefined) throw misfit(misses, net);
  // The numbers of landmarks or angles are a vector too. Users who name the output know that it is an embedding.
  const kind = kindOf(net);
  if (output === undefined && kind !== undefined && kind.kind !== 'embedder') {
    throw new Error(
      `${file} has ${shapesOf(net)}. It seems to be ${kind.words}. If it is an embedder, name its output with --embedder-output.`,
    );
  }
  if (vectors.length > 1) throw new Error(`${misses}. Choose one with --embedder-output.`);
  const dimensions = sizeOf(vector.shape);
  const isSface = input.name === 'data' && vector.name === 'fc1' && dimensions === 128;
  const chosen = preprocessing ?? (isSface ? 'sface' : 'insightface');
  const how = preprocessings[chosen];
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
      `embedder: fed ${preprocessingText(how)}${preprocessing === undefined ? `, as ${chosen}'s are: a guess that --try PAIRS.tsv:DIR tries on pairs of your own` : ''}`,
      "embedder: the face lies in the chip as ArcFace's five points say",
      ...(sides.every((side) => side > 0)
        ? []
        : [`embedder: ${width}×${height}; the file leaves its sides open`]),
    ],
  };
}

/** Throws an Error with a message for people. */
export function describeLandmarks(file: string): Described {
  const { net, input, sides, measured } = opened(file, 1);
  const [height, width] = sides as [number, number];
  if (height !== width || width < 1)
    throw misfit(`${file} should take one grey square, not ${shapesOfInputs(net)}`, net);
  const measuredNet = measured(height, width);
  const output = measuredNet.outputs.find(({ shape }) => sizeOf(shape) === 2 * 68);
  if (output === undefined)
    throw misfit(`${file} should output 68 points, but has ${shapesOf(measuredNet)}`, measuredNet);
  return {
    members: { family: 'points68', input: input.name, output: output.name, size: width, channels: 'grey' },
    assumed: ["landmarks: fed and cropped as the default pack's"],
  };
}

/**
 * A model for presentation attack detection, whose crop is `scale` sides of the face. `known`: the family, if
 * the user names it. Throws an Error with a message for people.
 */
export function describeLiveness(
  file: string,
  scale: number,
  known: LivenessFamily | undefined,
): Described & { family: LivenessFamily } {
  const { net, input, sides, measured } = opened(file, 3);
  const names = known === undefined ? (Object.keys(livenessFamilies) as LivenessFamily[]) : [known];
  // If the file leaves its sides open, those of the family are assumed.
  const { side } = livenessFamilies[names[0]!];
  const [height, width] = sides.map((given) => (given > 0 ? given : side)) as [number, number];
  if (height !== width) throw new Error(`${file} should take one square, not ${shapesOfInputs(net)}`);
  const measuredNet = measured(height, width);
  const isOf = (name: LivenessFamily) => {
    const classes: readonly number[] = livenessFamilies[name].classes;
    return measuredNet.outputs.filter(({ shape }) => classes.includes(sizeOf(shape)));
  };
  const family = names.find((name) => isOf(name).length === 1);
  if (family === undefined) {
    throw misfit(`${file} should output two or three numbers, but has ${shapesOf(measuredNet)}`, measuredNet);
  }
  const [output] = isOf(family);
  const { fed, live } = livenessFamilies[family];
  return {
    family,
    members: { input: input.name, output: output!.name, size: width, scale },
    assumed: [
      `liveness: ${basename(file)} fed ${fed}, a crop of ${scale} sides of the face; of its ${sizeOf(output!.shape)} numbers the ${live} says live, as in the family ${family}`,
    ],
  };
}

/**
 * Returns the declared inputs and outputs of a file with one input of this many channels, before or after
 * height and width.
 */
function opened(file: string, channels: number) {
  const net = loadAddon().describeNet(file);
  if ([...net.inputs, ...net.outputs].some(({ type }) => type === 'float16')) {
    throw new Error(
      `${file} takes or gives half-precision floats (FP16). A net must have floats at its borders, and may have halves ` +
        'inside: docs/packs.md, "Half precision", has the lines of Python that convert it.',
    );
  }
  const [input, ...more] = net.inputs;
  const { type, shape = [] } = input ?? {};
  const [batch, ...rest] = shape;
  const isLast = rest.at(-1) === channels && rest[0] !== channels;
  const planes = isLast ? rest.pop() : rest.shift();
  const fits =
    input !== undefined &&
    more.length === 0 &&
    type === 'float' &&
    rest.length === 2 &&
    (planes === channels || planes === -1) &&
    (batch === 1 || batch === -1);
  if (!fits) {
    throw misfit(
      `${file} should have one input of floats, 1×${channels}×height×width, and has ${shapesOfInputs(net) || 'none'}`,
      net,
    );
  }
  /** Returns the inputs and outputs of a run with these sides. */
  const measured = (height: number, width: number) => {
    const shape = isLast ? [1, height, width, channels] : [1, channels, height, width];
    try {
      return loadAddon().describeNet(file, shape);
    } catch (cause) {
      const message = `${file} does not run with an input of ${shape.join('×')}, and has ${shapesOf(net)}`;
      throw misfit(message, net, { cause });
    }
  };
  return { net, input, sides: rest, measured };
}

/** An Error that also says what the net seems to be. */
function misfit(message: string, net: NetFacts, options?: ErrorOptions): Error {
  const kind = kindOf(net);
  return new Error(kind === undefined ? message : `${message}. It seems to be ${kind.words}.`, options);
}

const sizeOf = (shape: readonly number[]) => shape.reduce((product, side) => product * side, 1);

const isVector = (shape: readonly number[]) => sizeOf(shape) >= 32 && sizeOf(shape) <= 4096;

const shapeOf = ({ name, shape, type }: TensorFacts) =>
  `"${name}" ${shape.map((side) => (side < 0 ? '?' : side)).join('×')}${type === 'other' ? ' (no floats)' : ''}`;

const shapesOfInputs = ({ inputs }: NetFacts) => inputs.map(shapeOf).join(', ');

const shapesOf = ({ outputs }: NetFacts) => outputs.map(shapeOf).join(', ');

/** These are enough digits for any byte. */
const rounded = (scale: number) => Number(scale.toPrecision(12));

function preprocessingText({ channels, mean, scale }: Fed): string {
  return `${channels.toUpperCase()}, (byte − ${mean}) × ${rounded(scale)}`;
}
