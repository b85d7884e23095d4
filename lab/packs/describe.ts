import { basename } from 'node:path';
import {
  type FamilyName,
  families,
  type InputScaling,
  type LivenessFamily,
  livenessFamilies,
  loadAddon,
  type NetFacts,
  type Preprocessing,
  preprocessings,
  type TensorFacts,
} from 'facematch/for-lab';
import { familyDefaults, knownFamilies } from './family-defaults.ts';
import { kindOf } from './net-kind.ts';

/** Derives the manifest members of a model from its file, and lists the assumptions. */

export interface Described {
  members: Record<string, unknown>;
  /** One line for each assumption that the file does not confirm. */
  assumed: string[];
}

/** A detector decoded as one family, with the family's minimum detection score. */
export type DescribedDetector = Described & { min_det_score: number };

/**
 * Returns the detector families that the output shapes match, the most likely first. Several can match, because a
 * model that decodes its own boxes may have the same shapes as one that does not. `known` is the family that the
 * user set. Throws an Error whose message is meant for the user.
 */
export function describeDetector(file: string, known: string | undefined): DescribedDetector[] {
  const { net, input, sides, measured } = opened(file, 3);
  const names = known === undefined ? knownFamilies : [known as FamilyName];
  let rejectedNet: NetFacts | undefined;
  const candidates = names.flatMap((name): DescribedDetector[] => {
    const family = familyDefaults[name]!;
    const [height, width] = sides.map((side) => (side > 0 ? side : family.side)) as [number, number];
    let facts: NetFacts;
    try {
      facts = measured(height, width);
      rejectedNet ??= facts;
    } catch (error) {
      // The model may not run with the input size of this family.
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
          `detector: input ${preprocessingText(preprocessing)}, ${source}`,
          ...(open ? [`detector: maximum input size ${width}×${height}; the file allows any`] : []),
          `detector: min_det_score ${min_det_score}, second_look_score ${second_look_score}, nms_iou ${nms_iou}; not measured`,
        ],
      },
    ];
  });
  if (candidates.length > 0) return candidates;
  throw misfit(
    `The outputs of ${file} do not match ${known === undefined ? 'any of the families' : 'the family'} ${names.join(', ')}: ${shapesOf(rejectedNet ?? net)}`,
    rejectedNet ?? net,
  );
}

/**
 * Returns the members that name the outputs of a detector; undefined if the outputs do not match the family.
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

/**
 * Describes an embedder. `output` and `preprocessing` are undefined unless the user set them. Throws an Error whose
 * message is meant for the user.
 */
export function describeEmbedder(
  file: string,
  { output, preprocessing }: { output: string | undefined; preprocessing: Preprocessing | undefined },
): Described {
  const { input, sides, measured } = opened(file, 3);
  // Assumes ArcFace's 112×112 for a file that allows any input size.
  const [height, width] = sides.map((side) => (side > 0 ? side : 112)) as [number, number];
  if (height !== width)
    throw new Error(`The input of ${file} is ${width}×${height}, but an embedder's input must be square`);
  const net = measured(height, width);
  const vectors = net.outputs.filter(
    ({ name, shape }) => (output === undefined ? isVector(shape) : name === output) && shape.length > 0,
  );
  const [vector] = vectors;
  const wanted = output === undefined ? 'one vector of 32 to 4,096 numbers' : `an output ${output}`;
  const mismatch = `${file} must have ${wanted}, but has ${shapesOf(net)}`;
  if (vector === undefined) throw misfit(mismatch, net);
  // Landmarks and angles are vectors too, so other kinds of models are rejected. --embedder-output confirms that
  // the output is an embedding.
  const kind = kindOf(net);
  if (output === undefined && kind !== undefined && kind.kind !== 'embedder') {
    throw new Error(
      `${file} has ${shapesOf(net)}. It seems to be ${kind.words}. If it is an embedder, select its output with --embedder-output.`,
    );
  }
  if (vectors.length > 1) throw new Error(`${mismatch}. Select one with --embedder-output.`);
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
      `embedder: input ${preprocessingText(how)}${preprocessing === undefined ? `, as for ${chosen}; this is a guess, which --try PAIRS.tsv:DIR tests on your own pairs` : ''}`,
      "embedder: faces aligned to ArcFace's five points",
      ...(sides.every((side) => side > 0)
        ? []
        : [`embedder: input size ${width}×${height}; the file allows any`]),
    ],
  };
}

/** Describes a 68-point landmark model. Throws an Error whose message is meant for the user. */
export function describeLandmarks(file: string): Described {
  const { net, input, sides, measured } = opened(file, 1);
  const [height, width] = sides as [number, number];
  if (height !== width || width < 1)
    throw misfit(`${file} must have one square greyscale input, but has ${shapesOfInputs(net)}`, net);
  const measuredNet = measured(height, width);
  const output = measuredNet.outputs.find(({ shape }) => sizeOf(shape) === 2 * 68);
  if (output === undefined)
    throw misfit(`${file} must output 68 points, but has ${shapesOf(measuredNet)}`, measuredNet);
  return {
    members: { family: 'points68', input: input.name, output: output.name, size: width, channels: 'grey' },
    assumed: ['landmarks: crop and input scaling as in the default pack'],
  };
}

/**
 * Describes a model for presentation attack detection, whose crop is `scale` times the size of the face. `known` is
 * the family that the user set. Throws an Error whose message is meant for the user.
 */
export function describeLiveness(
  file: string,
  scale: number,
  known: LivenessFamily | undefined,
): Described & { family: LivenessFamily } {
  const { net, input, sides, measured } = opened(file, 3);
  const names = known === undefined ? (Object.keys(livenessFamilies) as LivenessFamily[]) : [known];
  // Assumes the family's size for a file that allows any input size.
  const { side } = livenessFamilies[names[0]!];
  const [height, width] = sides.map((given) => (given > 0 ? given : side)) as [number, number];
  if (height !== width) throw new Error(`${file} must have one square input, but has ${shapesOfInputs(net)}`);
  const measuredNet = measured(height, width);
  const isOf = (name: LivenessFamily) => {
    const classes: readonly number[] = livenessFamilies[name].classes;
    return measuredNet.outputs.filter(({ shape }) => classes.includes(sizeOf(shape)));
  };
  const family = names.find((name) => isOf(name).length === 1);
  if (family === undefined) {
    throw misfit(`${file} must output two or three numbers, but has ${shapesOf(measuredNet)}`, measuredNet);
  }
  const [output] = isOf(family);
  const { input: scaling, live } = livenessFamilies[family];
  return {
    family,
    members: { input: input.name, output: output!.name, size: width, scale },
    assumed: [
      `liveness: ${basename(file)}: input ${scaling}, crop ${scale} times the face size; the ${live} of its ${sizeOf(output!.shape)} outputs is the class "live", as in the family ${family}`,
    ],
  };
}

/**
 * Reads the declared inputs and outputs of a model. Throws an Error unless it has one input with this number of
 * channels, before or after height and width.
 */
function opened(file: string, channels: number) {
  const net = loadAddon().describeNet(file);
  if ([...net.inputs, ...net.outputs].some(({ type }) => type === 'float16')) {
    throw new Error(
      `${file} has half-precision (FP16) inputs or outputs. They must be 32-bit floats; only internal tensors may be FP16. ` +
        'docs/packs.md, "Half precision", shows how to convert the file.',
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
      `${file} must have one float input of shape 1×${channels}×height×width, but has ${shapesOfInputs(net) || 'none'}`,
      net,
    );
  }
  /** Runs the model with an input of this size, and returns its inputs and outputs. */
  const measured = (height: number, width: number) => {
    const shape = isLast ? [1, height, width, channels] : [1, channels, height, width];
    try {
      return loadAddon().describeNet(file, shape);
    } catch (cause) {
      const message = `${file} does not run with an input of shape ${shape.join('×')}; its outputs are ${shapesOf(net)}`;
      throw misfit(message, net, { cause });
    }
  };
  return { net, input, sides: rest, measured };
}

/** Returns an Error whose message includes the probable kind of the model, if any. */
function misfit(message: string, net: NetFacts, options?: ErrorOptions): Error {
  const kind = kindOf(net);
  return new Error(kind === undefined ? message : `${message}. It seems to be ${kind.words}.`, options);
}

const sizeOf = (shape: readonly number[]) => shape.reduce((product, side) => product * side, 1);

const isVector = (shape: readonly number[]) => sizeOf(shape) >= 32 && sizeOf(shape) <= 4096;

const shapeOf = ({ name, shape, type }: TensorFacts) =>
  `"${name}" ${shape.map((side) => (side < 0 ? '?' : side)).join('×')}${type === 'other' ? ' (not float)' : ''}`;

const shapesOfInputs = ({ inputs }: NetFacts) => inputs.map(shapeOf).join(', ');

const shapesOf = ({ outputs }: NetFacts) => outputs.map(shapeOf).join(', ');

/** Rounds to 12 digits: the error for a byte is far below the precision of a 32-bit float. */
const rounded = (scale: number) => Number(scale.toPrecision(12));

function preprocessingText({ channels, mean, scale }: InputScaling): string {
  return `${channels.toUpperCase()}, (byte − ${mean}) × ${rounded(scale)}`;
}
