import type { Face, Image, Warning } from './answers.ts';
import type { ImageField } from './compare.ts';

const area = ({ box }: Face) => box.width * box.height;

/** When a face with a larger box was passed over. `chosen` is the index that the caller gave, -1 for none. */
export function notTheLargest(field: ImageField, { faces, face_index }: Image, chosen: number): Warning[] {
  const compared = area(faces[face_index]!);
  if (chosen >= 0 || faces.every((face) => area(face) <= compared)) return [];
  const detail = `${largestWords(field)} auto_pair_best=false, of the advanced endpoint, compares the first face of each image alone.`;
  return [{ code: 'not_the_largest_face', field, face_index, detail }];
}

/** The same for people who do not write requests. */
export function largestWords(image: string): string {
  return (
    `The face compared in ${image} is not the largest one there: make sure that it is the person you mean, ` +
    'and not somebody behind them or on an image that they hold.'
  );
}
