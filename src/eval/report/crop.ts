/** A square part of a picture, in pixels of the upright picture; it may reach over its edges. */
export interface Crop {
  x: number;
  y: number;
  side: number;
}

/** How much of the surroundings is shown: the side in longer sides of the box. */
const context = 2.2;

/** A face with what is around it, moved into the picture as far as it goes. */
export function cropAround(
  box: { x: number; y: number; width: number; height: number },
  picture: { width: number; height: number },
): Crop {
  const side = Math.min(context * Math.max(box.width, box.height), Math.max(picture.width, picture.height));
  return {
    x: inside(box.x + box.width / 2 - side / 2, side, picture.width),
    y: inside(box.y + box.height / 2 - side / 2, side, picture.height),
    side,
  };
}

/** The whole picture in the middle of a square. */
export function wholePicture({ width, height }: { width: number; height: number }): Crop {
  const side = Math.max(width, height);
  return { x: (width - side) / 2, y: (height - side) / 2, side };
}

function inside(start: number, side: number, length: number): number {
  return side >= length ? (length - side) / 2 : Math.max(0, Math.min(start, length - side));
}
