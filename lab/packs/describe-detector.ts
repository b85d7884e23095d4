import { type FamilyName, families, loadAddon, type NetFacts, type TensorFacts } from 'facematch/for-lab';
import { type Described, feedingWords, opened, rounded, shapesOf, sizeOf } from './describe.ts';
import { usual, usualFamilies } from './usual.ts';

/** A detector as nets of a family are described, and the score that a face must have. */
export type DescribedDetector = Described & { min_det_score: number };

/**
 * The ways to read a file of a detector by the shapes of its outputs, the likeliest first: a net that decodes its own boxes may
 * have the shapes of one that does not. `known`: the family, where the user names it. Throws an Error with a message for people.
 */
export function describeDetector(file: string, known: string | undefined): DescribedDetector[] {
  const { net, input, sides, measured } = opened(file, 3);
  const names = known === undefined ? usualFamilies : [known as FamilyName];
  let told: NetFacts | undefined;
  const ways = names.flatMap((name): DescribedDetector[] => {
    const family = usual[name]!;
    const [height, width] = sides.map((side) => (side > 0 ? side : family.side)) as [number, number];
    let facts: NetFacts;
    try {
      facts = measured(height, width);
      told ??= facts;
    } catch (error) {
      // Sides that a family assumes may be none of this net's.
      if (sides.every((side) => side > 0)) throw error;
      return [];
    }
    const { feeding, nms_iou, min_det_score, second_look_score, source, grids } = family;
    const outputs = outputsOf(facts, { family: name, width, height, ...grids });
    if (outputs === undefined) return [];
    const open = sides.some((side) => side < 0);
    return [
      {
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
          ...(open ? [`detector: ${width}×${height} at most; the file leaves its sides open`] : []),
          `detector: min_det_score ${min_det_score}, second_look_score ${second_look_score}, nms_iou ${nms_iou}; not measured`,
        ],
      },
    ];
  });
  if (ways.length > 0) return ways;
  throw new Error(
    `${file} is of none of the families ${names.join(', ')} by its outputs: ${shapesOf(told ?? net)}`,
  );
}

/** The members that name the outputs of a detector; undefined when the net is of another family. */
function outputsOf(
  { outputs }: NetFacts,
  detector: { family: FamilyName; width: number; height: number },
): Record<string, string | string[]> | undefined {
  const named: Record<string, string[]> = {};
  for (const { member, stride, rows, columns } of loadAddon().detectorOutputs(detector)) {
    const isFitting = ({ shape }: TensorFacts) =>
      shape.length > 1 && shape.at(-1) === columns && (rows === 0 || sizeOf(shape) === rows * columns);
    const [only, ...more] = outputs.filter(isFitting);
    // Shapes do not tell YuNet's cls from its obj.
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
