// Analyses images of mixed sizes and formats, and writes the process's memory after the given numbers of images.
import sharp from 'sharp';
import { loadPack, options, pack, sample } from './addon.mjs';

const counts = process.argv.slice(2).map(Number);
const addon = loadPack();

// Sizes range from a thumbnail to a photo, so that every scratch buffer is resized repeatedly.
const images = [];
for (const [i, width] of [160, 960, 320, 640, 240, 480].entries()) {
  const format = ['jpeg', 'png', 'webp'][i % 3];
  images.push(
    await sharp(sample(1 + i))
      .resize({ width })
      .toFormat(format)
      .toBuffer(),
  );
}
for (let done = 1; done <= Math.max(...counts); done++) {
  const accuracy_mode = done % 4 < 2 ? 'fast' : 'balance';
  const outcome = addon.analyse(pack, images[done % images.length], {
    ...options,
    min_det_score: 0.5,
    accuracy_mode,
  });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  if (!counts.includes(done)) continue;
  globalThis.gc();
  process.stdout.write(`${JSON.stringify({ done, rss: process.memoryUsage.rss() })}\n`);
}
