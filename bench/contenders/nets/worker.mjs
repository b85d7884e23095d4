// One picture in, the embedding of its largest face out. Who decodes, resizes and warps is the contender's choice:
// `pixels` is a module with decode(bytes), letterbox, greyCrop, colourCrop and release(picture).
import { workerData } from 'node:worker_threads';
import { detect } from './detector.mjs';
import { embed } from './embedder.mjs';
import { fivePoints } from './landmarks.mjs';
import { openNets } from './sessions.mjs';

/** Answers a function { bytes, mode } → { embedding }. */
export async function recogniser(pixels) {
  const nets = await openNets();
  return async ({ bytes, mode }) => {
    const picture = await pixels.decode(bytes);
    try {
      const faces = await detect(nets.detector, pixels, picture);
      const [face] = faces.sort((a, b) => b.width * b.height * b.score - a.width * a.height * a.score);
      if (face === undefined) return {};
      const points = await fivePoints(nets.landmarks, pixels, picture, face, mode);
      return { embedding: await embed(nets.embedder, pixels, picture, points, mode) };
    } finally {
      pixels.release(picture);
    }
  };
}

export default workerData?.pixels ? await recogniser(await import(workerData.pixels)) : undefined;
