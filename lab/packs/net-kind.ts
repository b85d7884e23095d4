import type { NetFacts, TensorFacts } from 'facematch/for-lab';

/** Guesses the kind of a model from its output shapes, to explain why it does not fit its role. */

/** Maps the number of output values of published landmark models to the number of landmarks. */
const landmarks: Readonly<Record<number, number>> = {
  10: 5,
  136: 68,
  196: 98,
  204: 68,
  212: 106,
  936: 468,
  956: 478,
  1404: 468,
  1434: 478,
  3309: 1103,
};

/** Number of 3-degree bins per angle in the outputs of Hopenet and similar models. */
const angleBins = 66;

/** Returns the shape of an output without the batch and without sides of 1; NaN for a dynamic side. */
function sidesOf({ shape }: TensorFacts): number[] {
  const [batch, ...rest] = shape;
  const sides = shape.length > 1 && (batch === 1 || batch === -1) ? rest : shape;
  return sides.map((side) => (side < 0 ? Number.NaN : side)).filter((side) => side !== 1);
}

/** Recognizes a rotation matrix, or the bins of three angles. */
const isPose = (shapes: readonly (readonly number[])[]) =>
  shapes.length === 1
    ? ['3,3', `${angleBins},3`, `3,${angleBins}`].includes(shapes[0]!.join())
    : shapes.length === 3 && shapes.every((sides) => sides.join() === String(angleBins));

type Kind = 'embedder' | 'landmarks' | 'liveness' | 'pose' | 'quality';

/** Returns a description such as "a landmark model (68 points)"; undefined if the outputs do not show the kind. */
export function kindOf({ outputs }: NetFacts): { kind: Kind; words: string } | undefined {
  const shapes = outputs.map(sidesOf);
  if (shapes.join() === '3')
    return { kind: 'pose', words: 'a head pose model (three angles), or one of three classes' };
  if (isPose(shapes)) return { kind: 'pose', words: 'a head pose model (three angles or a rotation)' };
  const sizes = shapes.map((sides) => sides.reduce((all, side) => all * side, 1));
  const points = sizes.map((size) => landmarks[size]).find((count) => count !== undefined);
  if (points !== undefined) return { kind: 'landmarks', words: `a landmark model (${points} points)` };
  const [size = 0, ...more] = sizes;
  if (more.length > 0) return undefined;
  if (size === 1) return { kind: 'quality', words: 'a face quality model (one number for an image)' };
  if (size === 2) return { kind: 'liveness', words: 'a liveness model (two classes)' };
  if (size < 32 || size > 4096 || Number.isNaN(size)) return undefined;
  return { kind: 'embedder', words: `an embedder (${size} numbers)` };
}
