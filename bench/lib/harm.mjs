// Photos made worse, one thing at a time, by known amounts.
import sharp from 'sharp';

/** As bytes without further loss. */
const picture = (pipeline) => pipeline.png({ compressionLevel: 1 }).toBuffer();

/**
 * Each: what is said of the face that tells the harm, the amounts from harmless to hopeless, and how it is done.
 * `apply(bytes, amount, face)` gives bytes, or nothing where the photo is that bad already. The face's place must not
 * move but for `small`, which scales it with the picture.
 */
export const harms = {
  small: {
    measure: 'face_pixels',
    unit: 'px',
    amounts: [112, 80, 64, 56, 48, 40, 32, 24, 20, 16],
    async apply(bytes, amount, face) {
      const { width } = await sharp(bytes).metadata();
      const scale = amount / face.quality.face_pixels;
      return scale > 1 ? undefined : picture(sharp(bytes).resize({ width: Math.round(width * scale) }));
    },
  },
  // In hundredths of the face's side, so that it means the same for photos of any size.
  blurred: {
    measure: 'sharpness',
    unit: '% σ',
    amounts: [0.9, 1.8, 2.3, 2.7, 3.1, 3.6, 4.5, 5.4],
    apply: (bytes, amount, face) =>
      picture(sharp(bytes).blur(Math.max(0.3, (amount / 100) * face.quality.face_pixels))),
  },
  // As too short an exposure, then stored in eight bits.
  dark: {
    measure: 'brightness',
    unit: '×',
    amounts: [0.7, 0.5, 0.35, 0.25, 0.18, 0.13, 0.09, 0.06],
    apply: (bytes, amount) => picture(sharp(bytes).linear(amount, 0)),
  },
  // As too long an exposure: what goes beyond white is lost.
  bright: {
    measure: 'brightness',
    unit: '×',
    amounts: [1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5],
    apply: (bytes, amount) => picture(sharp(bytes).linear(amount, 0)),
  },
};
