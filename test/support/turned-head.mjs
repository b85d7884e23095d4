// Makes frames of a turning head from one sample photo: a camera's view of a simple model of a head, or of a print.
import sharp from 'sharp';
import { cutOuts } from './portraits.mjs';
import { addNoise, drawTurned, surfaces } from './surface.mjs';

/**
 * The crop to use, its eyes ([right, left] of the person) as shares of its side, and the turn that makes the person
 * look straight.
 */
const person = {
  cutOut: 5,
  eyes: [
    [0.407, 0.448],
    [0.575, 0.456],
  ],
  straight: { yaw: 9, pitch: -8 },
};

/** Returns the photo of the person as a sharp image. */
export const sitter = () => cutOuts()[person.cutOut];

const size = { width: 480, height: 360, scale: 62 };

/** Returns a JPEG frame for each pose ({ yaw, pitch } in degrees). `surface`: such as `surfaces.flat()`. */
export async function turnedFrames(poses, { surface = surfaces.head(), quality = 90 } = {}) {
  const side = 480;
  const { data } = await sitter()
    .resize(side, side)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const photo = { data, width: side, height: side };
  const at = person.eyes.map((point) => point.map((share) => share * side));
  return Promise.all(
    poses.map(async ({ yaw = 0, pitch = 0 }, i) => {
      // Adds small movements, because a hand or a head is never still.
      const shift = [2 * Math.sin(5 * i), 2 * Math.cos(3 * i)];
      const sway = { yaw: 1.5 * Math.sin(4 * i), pitch: 1.2 * Math.cos(5 * i) };
      const turn = {
        yaw: yaw + sway.yaw + person.straight.yaw,
        pitch: pitch + sway.pitch + person.straight.pitch,
      };
      const drawn = drawTurned(photo, at, surface, { ...size, ...turn, shift });
      addNoise(drawn, i);
      return sharp(drawn.data, { raw: { width: size.width, height: size.height, channels: 3 } })
        .jpeg({ quality })
        .toBuffer();
    }),
  );
}

const turns = { left: [1, 0], right: [-1, 0], up: [0, 1], down: [0, -1] };

/**
 * Returns the poses of a head that follows a challenge: straight, then to each step and back. `yaw`, `pitch`: maximum
 * angles in degrees.
 */
export function posesOf(steps, { yaw = 24, pitch = 23 } = {}) {
  const path = steps.flatMap((step) => {
    const [across, along] = turns[step];
    return [0.4, 0.8, 1, 1, 0.8, 0.4, 0].map((share) => ({
      yaw: across * share * yaw,
      pitch: along * share * pitch,
    }));
  });
  return [{}, {}, ...path];
}
